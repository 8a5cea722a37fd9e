"""TLS as docker-compose.tls.yml sets it up: nginx and certbot with our scripts, and Debian's pebble as authority.

The three run as processes on loopback; pebble's own server of names sends every name to this machine.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from publisher.tests.servers import certificate_of
from tests.programs import answers, free_port
from tests.test_nginx import Site
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent
DOMAIN = "arena.example.org"
DEADLINE_SECONDS = 300
pytestmark = [pytest.mark.nginx, pytest.mark.pebble, pytest.mark.nightly, pytest.mark.slow]


@contextmanager
def running(
    folder: Path, name: str, command: Sequence[str], variables: Mapping[str, str] | None = None
) -> Iterator[Path]:
    """A program with everything that it starts, ended afterwards; yields the file of what it says."""
    log = folder / f"{name}.log"
    with log.open("w") as file:
        program = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **(variables or {})}, stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield log
        finally:
            os.killpg(program.pid, 15)
            try:
                program.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, 9)
                program.wait()


@dataclass
class Host:
    """nginx with our files on two ports of its own, and where certbot and it meet."""

    folder: Path
    http: int
    https: int

    def write(self, site: int) -> None:
        text = (ROOT / "nginx/default.conf").read_text()
        tls = (ROOT / "nginx/tls/server.conf").read_text()
        for old, new in (
            ("server web:8000;", f"server 127.0.0.1:{site};"),
            ("server events:8001;", f"server 127.0.0.1:{site};"),
            ("listen 80 default_server;", f"listen 127.0.0.1:{self.http} default_server;"),
            ("/etc/nginx/arena/*.conf", f"{self.folder}/tls.conf"),
            ("/tmp/arena-static", f"{self.folder}/static"),
            ("/tmp/arena-pages", f"{self.folder}/pages"),
            # As start.sh does.
            ('ALLOWED_HOSTS "', f'{DOMAIN} "'),
            ("/var/log/nginx/access.log", f"{self.folder}/access.log"),
        ):
            assert old in text
            text = text.replace(old, new)
        for old, new in (
            ("listen 443 ssl default_server;", f"listen 127.0.0.1:{self.https} ssl default_server;"),
            ("/etc/arena-tls/pair", str(self.pair)),
            ("/var/www/acme", str(self.folder / "acme")),
        ):
            assert old in tls
            tls = tls.replace(old, new)
        if b"nginx/1.22" in nginx_version():
            # Debian 12's is older than the directive; the image of the compose file has it.
            tls = tls.replace("http2 on;", "").replace("ssl default_server;", "ssl http2 default_server;")
        (self.folder / "tls.conf").write_text(tls)
        (self.folder / "acme").mkdir()
        # Workers of another user could not read what certbot puts below this folder.
        user = "user root;\n" if os.geteuid() == 0 else ""
        main = (
            user
            + f"pid {self.folder}/nginx.pid;\nerror_log {self.folder}/error.log;\nevents {{}}\nhttp {{\n{text}\n}}\n"
        )
        (self.folder / "nginx.conf").write_text(main)

    @property
    def pair(self) -> Path:
        return self.folder / "pair"

    def variables(self) -> dict[str, str]:
        return {"LIVE": str(self.folder / "certbot/live/arena"), "PAIR": str(self.pair), "EVERY": "1"}

    def issuer(self) -> str:
        """Who has signed the certificate that visitors get now."""
        found = ssl.get_server_certificate(("127.0.0.1", self.https))
        done = subprocess.run(
            ["openssl", "x509", "-noout", "-issuer", "-ext", "subjectAltName"],
            input=found, text=True, capture_output=True, check=False, timeout=30,
        )  # fmt: skip
        return done.stdout

    def protocol(self, version: ssl.TLSVersion) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = context.maximum_version = version
        with socket.create_connection(("127.0.0.1", self.https), 10) as plain, context.wrap_socket(plain) as tls:
            return str(tls.version())

    def ask(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.http, timeout=30)
        try:
            connection.request("GET", path, headers={"Host": DOMAIN})
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Location", "")
        finally:
            connection.close()


def nginx_version() -> bytes:
    return subprocess.run(["nginx", "-v"], capture_output=True, check=False).stderr


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    made = Host(tmp_path, free_port(), free_port())
    made.write(site.server_port)
    start = ["sh", str(ROOT / "nginx/tls/start.sh"), "-c", str(tmp_path / "nginx.conf")]
    with running(tmp_path, "nginx", start, made.variables()):
        wait_until(lambda: answers(made.https), "nginx listens")
        yield made
    site.shutdown()
    site.server_close()


@contextmanager
def authority(folder: Path, http: int) -> Iterator[tuple[str, Path]]:
    """Pebble, which asks this host on the port of its nginx; yields its address and what its own TLS is trusted by."""
    trusted, pair = certificate_of(folder)
    acme, management, names, names_management = (free_port() for _ in range(4))
    config = {
        "pebble": {
            "listenAddress": f"127.0.0.1:{acme}", "managementListenAddress": f"127.0.0.1:{management}",
            "certificate": str(pair), "privateKey": str(pair), "httpPort": http, "tlsPort": free_port(),
            "ocspResponderURL": "", "externalAccountBindingRequired": False,
        }
    }  # fmt: skip
    (folder / "pebble.json").write_text(json.dumps(config))
    resolver = [
        "pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", f"127.0.0.1:{names}",
        "-http01", "", "-https01", "", "-tlsalpn01", "", "-management", f"127.0.0.1:{names_management}",
    ]  # fmt: skip
    pebble = ["pebble", "-config", str(folder / "pebble.json"), "-dnsserver", f"127.0.0.1:{names}"]
    with ExitStack() as stack:
        stack.enter_context(running(folder, "names", resolver))
        # Without its waits and its refusals of good nonces, which are there to try clients.
        variables = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"}
        stack.enter_context(running(folder, "pebble", pebble, variables))
        wait_until(lambda: answers(acme), "pebble listens")
        yield f"https://localhost:{acme}/dir", trusted


def certbot(folder: Path, server: str, trusted: Path) -> dict[str, str]:
    return {
        "TLS_DOMAINS": DOMAIN, "ACME_SERVER": server, "FOLDER": str(folder / "certbot"), "ROOT": str(folder / "acme"),
        "REQUESTS_CA_BUNDLE": str(trusted),
    }  # fmt: skip


def test_a_site_gets_its_certificate_and_renews_it_without_a_break(host: Host) -> None:
    # From the first second on: nginx is up with a certificate of its own, and only TLS shows the site.
    assert "CN = localhost" in host.issuer()
    assert host.ask("/duels/1/?page=2") == (308, f"https://{DOMAIN}/duels/1/?page=2")
    assert host.ask("/nginx-health")[0] == 204
    assert host.ask("/.well-known/acme-challenge/none")[0] == 404
    assert host.protocol(ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    assert host.protocol(ssl.TLSVersion.TLSv1_3) == "TLSv1.3"

    with authority(host.folder, host.http) as (server, trusted):
        script = ["sh", str(ROOT / "nginx/tls/certbot.sh")]
        with running(host.folder, "certbot", script, certbot(host.folder, server, trusted)) as log:
            wait_until(lambda: "Pebble" in host.issuer(), f"a certificate: {log.read_text()}")
        first = host.issuer()
        assert f"DNS:{DOMAIN}" in first
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(f"https://127.0.0.1:{host.https}/", context=context, timeout=30) as answer:
            assert answer.status == 200

        serial = ssl.get_server_certificate(("127.0.0.1", host.https))
        folders = (("config-dir", "certbot"), ("work-dir", "work"), ("logs-dir", "logs"))
        renew = ["certbot", "renew", "--force-renewal", "--no-random-sleep-on-renew"]
        renew += [word for name, folder in folders for word in (f"--{name}", str(host.folder / folder))]
        variables = {**os.environ, "REQUESTS_CA_BUNDLE": str(trusted)}
        subprocess.run(renew, env=variables, check=True, timeout=DEADLINE_SECONDS, capture_output=True)
        wait_until(lambda: ssl.get_server_certificate(("127.0.0.1", host.https)) != serial, "nginx takes the new one")


def test_an_authority_that_is_away_leaves_what_there_is(host: Host) -> None:
    trusted = host.folder / "none.pem"
    trusted.write_text("")
    script = ["sh", str(ROOT / "nginx/tls/certbot.sh")]
    away = f"https://localhost:{free_port()}/dir"
    with running(host.folder, "certbot", script, certbot(host.folder, away, trusted)) as log:
        wait_until(lambda: "is port 80 open?" in log.read_text(), "certbot gives up for now")
    assert "CN = localhost" in host.issuer()
    assert host.ask("/nginx-health")[0] == 204
