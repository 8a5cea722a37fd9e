"""Real servers of git on loopback: Debian's sshd with git's shell, and `git http-backend` behind HTTPS."""

from __future__ import annotations

import base64
import getpass
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path

SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True, slots=True)
class SshServer:
    """folder: of ssh, as a worker has it. authorized: the file with the keys that may log in."""

    address: str
    folder: Path
    authorized: Path


@contextmanager
def ssh_server(root: Path, repository: Path) -> Iterator[SshServer]:
    """Serve a repository over ssh, to one key and one command; every file of it is below `root`."""
    folder, settings = root / "ssh", root / "sshd"
    folder.mkdir(mode=0o700)
    settings.mkdir(mode=0o700)
    for key in (folder / "id_ed25519", settings / "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=30)
    authorized = settings / "authorized_keys"
    public = (folder / "id_ed25519.pub").read_text()
    authorized.write_text(f'restrict,command="git shell -c \\"$SSH_ORIGINAL_COMMAND\\"" {public}')
    port = free_port()
    (settings / "config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {settings}/host\nAuthorizedKeysFile {authorized}\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\nPidFile none\nLogLevel VERBOSE\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (settings / "log").open("w") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(settings / "config")], stderr=log)
    try:
        wait_for(port, server)
        host_key = " ".join((settings / "host.pub").read_text().split()[:2])
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
        yield SshServer(f"ssh://{getpass.getuser()}@127.0.0.1:{port}{repository}", folder, authorized)
    finally:
        server.terminate()
        server.wait(timeout=10)


@dataclass(frozen=True, slots=True)
class HttpsServer:
    """authority: the file that names its certificate as trusted."""

    port: int
    authority: Path

    def address(self, credentials: str, path: str) -> str:
        return f"https://{credentials}localhost:{self.port}/{path}"


@contextmanager
def https_server(root: Path, repositories: Path, *, user: str, password: str) -> Iterator[HttpsServer]:
    """Serve all repositories of a folder with `git http-backend` over TLS, to one user with a password."""
    expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(Backend):
        project_root = repositories
        authorization = expected

    authority, certificate = certificate_of(root)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield HttpsServer(server.server_address[1], authority)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


class Backend(BaseHTTPRequestHandler):
    """Hands requests to git's own program, as a web server does by CGI."""

    protocol_version = "HTTP/1.1"
    project_root: Path
    authorization: str

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", self.path.replace("/moved", "", 1))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.headers.get("Authorization") != self.authorization:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.project_root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "arena",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self._body()
        variables["CONTENT_LENGTH"] = str(len(body))
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=variables, capture_output=True, check=False, timeout=60
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        return b"".join(chunks(self.rfile))


def chunks(file: BufferedIOBase) -> Iterator[bytes]:
    while size := int(file.readline(), 16):
        yield file.read(size)
        file.readline()
    file.readline()


def certificate_of(root: Path) -> tuple[Path, Path]:
    """Make an authority and a certificate of it for localhost, with its key in the same file."""
    folder = root / "tls"
    folder.mkdir()
    authority, key, request, certificate = (folder / name for name in ("ca.pem", "key.pem", "csr.pem", "cert.pem"))
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    names = folder / "names"
    names.write_text("subjectAltName=DNS:localhost\n")
    for command in (
        [*new, "/CN=Authority", "-x509", "-days", "2", "-keyout", str(folder / "ca.key"), "-out", str(authority)],
        [*new, "/CN=localhost", "-keyout", str(key), "-out", str(request)],
        ["openssl", "x509", "-req", "-in", str(request), "-CA", str(authority), "-CAkey", str(folder / "ca.key"),
         "-set_serial", "2", "-days", "2", "-extfile", str(names), "-out", str(certificate)],
    ):  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    certificate.write_text(certificate.read_text() + key.read_text())
    return authority, certificate


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server does not listen")
