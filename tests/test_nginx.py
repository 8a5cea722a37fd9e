"""nginx as it is configured for production, in front of a site that only says yes."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.programs import answers, free_port

ROOT = Path(__file__).resolve().parent.parent
DEADLINE_SECONDS = 90
TRIES = 6
"""Posts to the accounts that one visitor may send at once."""
NAMED = (
    ("# set_real_ip_from 192.0.2.1;", "set_real_ip_from 127.0.0.1;"),
    ("# real_ip_header", "real_ip_header"),
    ("# real_ip_recursive", "real_ip_recursive"),
)
"""Lines of the configuration that are commented out, for a site behind another proxy."""
Ask = Callable[..., tuple[int, str]]
pytestmark = pytest.mark.nginx


class Site(BaseHTTPRequestHandler):
    """Answers everything with the address that nginx says the visitor has."""

    count = 0
    is_over = threading.Event()

    def do_GET(self) -> None:
        if self.path.startswith("/kept/"):
            self._count()
            return
        if self.path.startswith("/events/"):
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            Site.is_over.wait(DEADLINE_SECONDS)
            return
        header = {"/id/": "X-Request-ID", "/scheme/": "X-Forwarded-Proto"}.get(self.path, "X-Forwarded-For")
        answer = self.headers.get(header, "").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_POST(self) -> None:
        # Without reading the body it would end the connection while nginx still sends it.
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _count(self) -> None:
        """Answer with the number of requests so far; nginx may keep it for a minute, unless the address says not to."""
        Site.count += 1
        is_gone = self.path == "/kept/gone/" and Site.count > 1
        answer = str(Site.count).encode()
        self.send_response(404 if is_gone else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Vary", "Cookie, HX-Target")
        kept = {"/kept/not/": "no-cache", "/kept/card.png": "public, max-age=300", "/kept/gone/": "public, s-maxage=1"}
        self.send_header("Cache-Control", kept.get(self.path, "public, max-age=0, s-maxage=60"))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def nginx(
    folder: Path, *changes: tuple[str, str], given: Path = ROOT / "nginx/default.conf", port: int = 0
) -> Iterator[Ask]:
    """Run nginx with the configuration and these changes; what is yielded asks it as a visitor."""
    port, site = port or free_port(), ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    text = given.read_text()
    places = (
        ("server web:8000;", f"server 127.0.0.1:{site.server_port};"),
        ("server events:8001;", f"server 127.0.0.1:{site.server_port};"),
        ("listen 80 default_server;", f"listen 127.0.0.1:{port};"),
        ("/tmp/arena-static", str(folder / "static")),
        ("/tmp/arena-pages", str(folder / "pages")),
        ("/var/log/nginx/access.log", str(folder / "access.log")),
    )
    for old, new in (*places, *changes):
        assert old in text
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"user root; daemon off; pid {folder}/pid; worker_processes 1; events {{}}\n"
        f"http {{ access_log off; {temporary} include {folder}/site.conf; }}\n"
    )
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")])

    def ask(
        method: str, path: str, visitor: str = "", body: bytes = b"", header: str = "", **sent: str
    ) -> tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)) as connection:
            headers = {"X-Forwarded-For": visitor, "X-Request-ID": visitor} if visitor else {}
            connection.request(method, path, body, headers | {name.replace("_", "-"): sent[name] for name in sent})
            answer = connection.getresponse()
            return answer.status, answer.getheader(header, "") if header else answer.read().decode()

    try:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not answers(port):
            assert process.poll() is None, (folder / "error.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield ask
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)
        site.shutdown()
        site.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    # Its workers are another user, who has to reach the folder.
    tmp_path.chmod(0o755)
    return tmp_path


def test_who_tries_many_passwords_reads_what_to_do(folder: Path) -> None:
    with nginx(folder) as ask:
        given = [ask("POST", "/login/") for _ in range(TRIES + 1)]
        assert [status for status, _ in given] == [200] * TRIES + [429]
        assert "Too many attempts came from your address" in given[-1][1]
        assert ask("POST", "/login/", header="Retry-After") == (429, "6")
        # Programs sign up by the API, and share the tries of their address.
        assert ask("POST", "/api/v1/accounts/")[0] == 429
        # Looking costs nothing.
        assert ask("GET", "/login/")[0] == 200


def test_what_a_visitor_says_of_its_address_does_not_count(folder: Path) -> None:
    with nginx(folder) as ask:
        given = [ask("POST", "/login/", f"198.51.100.{number}") for number in range(TRIES + 1)]
    assert [status for status, _ in given] == [200] * TRIES + [429]
    assert given[0][1] == "127.0.0.1"


def test_behind_a_proxy_that_is_named_every_visitor_is_limited_alone(folder: Path) -> None:
    with nginx(folder, *NAMED) as ask:
        given = [ask("POST", "/login/", "198.51.100.7") for _ in range(TRIES + 1)]
        assert [status for status, _ in given] == [200] * TRIES + [429]
        assert ask("POST", "/login/", "198.51.100.8") == (200, "198.51.100.8")
        # The same address, written as one of the other kind; other bytes of it are another client's.
        assert ask("POST", "/login/", "::ffff:198.51.100.7")[0] == 429
        assert ask("POST", "/login/", "::ffff:198.51.100.9")[0] == 200


def main_file(folder: Path) -> Path:
    """Write the main file of nginx as its image has it, shortened."""
    path = folder / "main.conf"
    path.write_text(f"pid {folder}/pid;\nevents {{\n    worker_connections  1024;\n}}\nhttp {{ }}\n")
    return path


def test_strangers_share_a_page_for_as_long_as_the_site_says(folder: Path) -> None:
    with nginx(folder) as ask:
        first = ask("GET", "/kept/")
        assert [ask("GET", "/kept/") for _ in range(3)] == [first] * 3
        own = [ask("GET", "/kept/", Cookie="sessionid=1"), ask("GET", "/kept/", Authorization="Bearer 1")]
        own += [ask("GET", "/kept/", X_Seen="a"), ask("GET", "/kept/", Cookie="sessionid=1")]
        own += [ask("GET", "/kept/", HX_Target="leaderboard"), ask("GET", "/kept/?page=2")]
        assert len({first, *own}) == 7
        assert ask("GET", "/kept/") == first
        # A card that browsers may keep would otherwise be sent on after its match was hidden.
        for path in ("/kept/not/", "/kept/card.png"):
            assert ask("GET", path) != ask("GET", path)


def test_a_page_that_is_gone_is_not_sent_once_the_site_has_said_so(folder: Path) -> None:
    with nginx(folder) as ask:
        Site.count, deadline = 0, time.monotonic() + DEADLINE_SECONDS
        assert ask("GET", "/kept/gone/") == (200, "1")
        while (found := ask("GET", "/kept/gone/")) == (200, "1") and Site.count == 1:
            assert time.monotonic() < deadline
        assert found == (404, "2")
        # Kept as the page was, so that it is not sent to some while others renew it.
        assert [ask("GET", "/kept/gone/")[0] for _ in range(3)] == [404] * 3


def test_a_class_behind_one_address_gets_its_streams_and_an_account_gets_twenty(folder: Path) -> None:
    def status(port: int, cookie: str) -> str:
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS))
        connection.sendall(f"GET /events/wall HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
        return connection.recv(12).decode().split()[1]

    port = free_port()
    Site.is_over.clear()
    with nginx(folder, port=port), ExitStack() as stack:
        stack.callback(Site.is_over.set)
        # Strangers and people of one room, with a few pages each.
        people = ["", "__Host-sessionid=ann; theme=dark", "theme=dark; sessionid=bob"]
        assert {status(port, cookie) for cookie in people for _ in range(20)} == {"200"}
        assert [status(port, cookie) for cookie in people] == ["200", "503", "503"]


def test_there_is_room_for_thousands_of_streams(folder: Path) -> None:
    script = (ROOT / "nginx/start.sh").read_text().replace("/etc/nginx/nginx.conf", str(main_file(folder)))
    script = script.replace("/etc/arena/default.conf", str(ROOT / "nginx/default.conf"))
    script = script.replace("/etc/nginx/conf.d/default.conf", str(folder / "written.conf"))
    for _ in ("a container starts", "it starts again"):
        subprocess.run(["sh", "-c", script, "sh", "true"], env=dict(os.environ), check=True)
    written = (folder / "main.conf").read_text()
    assert "worker_connections 9000;" in written
    assert written.startswith("worker_rlimit_nofile 20000;\n")
    subprocess.run(["nginx", "-t", "-c", str(folder / "main.conf"), "-e", str(folder / "error.log")], check=True)


@pytest.mark.parametrize(
    ("hosts", "answered", "foreign"),
    [
        ("arena.example.org, www.example.org", "arena.example.org www.example.org:80 WWW.example.org", "x.example"),
        ("Arena.Example.org", "arena.example.org ARENA.example.org", "evil,evil x,* arena.example.org,evil"),
        ("arena.example.org", "arena.example.org localhost", "a.arena.example.org example.org arena.example.org.x"),
        (".example.org", "example.org a.b.example.org", "badexample.org example.org.x"),
        ("*", "anything.example", ""),
        ("", "localhost", "arena.example.org ALLOWED_HOSTS"),
    ],
)  # fmt: skip
def test_a_foreign_host_gets_no_answer(folder: Path, hosts: str, answered: str, foreign: str) -> None:
    script = (ROOT / "nginx/start.sh").read_text()
    for old in ("/etc/arena/default.conf", "/etc/nginx/conf.d/default.conf"):
        assert old in script
    written = folder / "written.conf"
    script = script.replace("/etc/arena/default.conf", str(ROOT / "nginx/default.conf"))
    script = script.replace("/etc/nginx/conf.d/default.conf", str(written))
    script = script.replace("/etc/nginx/nginx.conf", str(main_file(folder)))
    subprocess.run(["sh", "-c", script, "sh", "true"], env={**os.environ, "ALLOWED_HOSTS": hosts}, check=True)
    with nginx(folder, given=written) as ask:
        assert [ask("GET", "/", Host=host)[0] for host in answered.split()] == [200] * len(answered.split())
        for host in foreign.split():
            with pytest.raises(http.client.RemoteDisconnected):
                ask("GET", "/", Host=host)


def test_only_a_named_proxy_says_that_a_visitor_came_by_tls(folder: Path) -> None:
    with nginx(folder) as ask:
        assert ask("GET", "/scheme/", "198.51.100.7", X_Forwarded_Proto="https") == (200, "http")
    with nginx(folder, *NAMED) as ask:
        assert ask("GET", "/scheme/", "198.51.100.7", X_Forwarded_Proto="https") == (200, "https")
        assert ask("GET", "/scheme/", "198.51.100.7", X_Forwarded_Proto="http") == (200, "http")
        assert ask("GET", "/scheme/", X_Forwarded_Proto="https") == (200, "http")


def test_a_network_of_the_sixth_version_is_one_visitor(folder: Path) -> None:
    with nginx(folder, *NAMED) as ask:
        # One byte of the network is that of a new line, one of a host is zero: nothing of it is taken for text.
        given = [ask("POST", "/login/", f"2001:db8:a:0:{number}::{number:x}") for number in range(TRIES + 1)]
        assert [status for status, _ in given] == [200] * TRIES + [429]
        assert ask("POST", "/login/", "2001:db8:a:1::1")[0] == 200


def test_the_logs_hold_no_part_of_an_address_that_opens_something(folder: Path) -> None:
    asked = (
        "/password-reset/Mg/c8v1ab-secret/", "//password-reset/Mg/%63-secret/", "/%70assword-reset/Mg/secret",
        "/duels/7/?token=secret", "/login/?next=/secret/",
    )  # fmt: skip
    with nginx(folder) as ask:
        for address in asked:
            ask("GET", address)
        for _ in range(TRIES + 1):
            refused, _ = ask("POST", "/password-reset/Mg/c8v1ab-secret/")
        assert refused == 429
        ask("GET", "/last/")
    log = (folder / "access.log").read_text()
    assert log.count('"GET /password-reset/Mg/(secret) HTTP/1.1" 200') == 3
    assert '"GET /duels/7/ HTTP/1.1" 200' in log
    assert '"GET /last/ HTTP/1.1" 200' in log
    for text in (log, (folder / "error.log").read_text()):
        assert "-secret" not in text
        assert "secret" not in text.replace("/(secret)", "")


def test_its_own_pages_allow_their_style_and_nothing_else() -> None:
    text = (ROOT / "nginx/default.conf").read_text()
    (style,) = re.findall(r"<style>(.*?)</style>", text)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-{digest}'"
        in text
    )
    assert "style=" not in text


def test_what_is_too_large_and_a_site_that_is_away_are_said_in_a_sentence(folder: Path) -> None:
    away = ("proxy_read_timeout 130s;", "proxy_read_timeout 130s; location /away/ { proxy_pass http://127.0.0.1:1; }")
    with nginx(folder, away, ("client_max_body_size 105m;", "client_max_body_size 1k;")) as ask:
        status, page = ask("POST", "/environments/connect-four/agents/", body=b"x" * 2048)
        assert (status, "larger than the arena accepts" in page) == (413, True)
        status, page = ask("GET", "/away/")
        assert (status, "does not answer at the moment" in page) == (502, True)
        assert ask("GET", "/away/", header="Retry-After") == (502, "")


def test_programs_read_the_same_sentence_as_json(folder: Path) -> None:
    away = ("location /static/ {", "location /api/away/ { proxy_pass http://127.0.0.1:1; } location /static/ {")
    with nginx(folder, away, ("client_max_body_size 105m;", "client_max_body_size 1k;")) as ask:
        status, text = ask("GET", "/api/away/")
        assert (status, "does not answer" in json.loads(text)["detail"]) == (502, True)
        assert ask("GET", "/api/away/", header="Content-Type") == (502, "application/json")
        status, text = ask("POST", "/api/v1/agents/1/submissions/", body=b"x" * 2048)
        assert (status, "larger than the arena accepts" in json.loads(text)["detail"]) == (413, True)


def test_a_visitor_has_few_large_bodies_at_a_time_and_others_none_the_less(folder: Path) -> None:
    """Unfinished uploads would fill the disk; what has no large body is not counted."""
    port = free_port()
    # Its workers cannot write below the folder of the tests.
    kept = ("client_body_timeout 30s;", "client_body_timeout 30s; client_body_buffer_size 3m;")
    with nginx(folder, *NAMED, kept, port=port) as ask, ExitStack() as opened:
        for number in range(8):
            body = "Transfer-Encoding: chunked" if number % 2 else "Content-Length: 2000000"
            held = opened.enter_context(closing(socket.create_connection(("127.0.0.1", port))))
            held.sendall(
                f"POST /submit/ HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 198.51.100.7\r\n{body}\r\n\r\n".encode()
            )
        deadline = time.monotonic() + DEADLINE_SECONDS
        while ask("POST", "/submit/", "198.51.100.7", body=b"x" * 2_000_000)[0] != 429:
            assert time.monotonic() < deadline
        assert ask("POST", "/submit/", "198.51.100.7", body=b"x" * 1_999_999)[0] == 200
        assert ask("GET", "/", "198.51.100.7")[0] == 200
        assert ask("POST", "/submit/", "198.51.100.8", body=b"x" * 2_000_000)[0] == 200


def test_no_account_takes_a_file(folder: Path) -> None:
    with nginx(folder) as ask:
        assert ask("POST", "/login/", body=b"x" * (3 << 20 | 1))[0] == 413


def test_figures_are_not_for_visitors_and_every_request_gets_an_id_of_our_own(folder: Path) -> None:
    with nginx(folder) as ask:
        # However it is written.
        for path in ("/metrics", "/metrics/", "//metrics", "/./metrics", "/%6detrics", "/metrics?a=b"):
            assert ask("GET", path)[0] == 403, path
        assert ask("GET", "/health")[0] == 200
    with nginx(folder, *NAMED) as ask:
        given_by = {"X_Forwarded_Proto": "https", "header": "Strict-Transport-Security"}
        assert ask("GET", "/metrics", "198.51.100.7", **given_by) == (403, "max-age=31536000; includeSubDomains")
    with nginx(folder) as ask:
        given = {ask("GET", "/id/", "chosen-by-a-visitor")[1] for _ in range(3)}
    assert len(given) == 3
    assert all(len(found) == 32 and found.isalnum() for found in given)
