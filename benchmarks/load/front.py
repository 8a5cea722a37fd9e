"""nginx in front of a server of a benchmark, with the configuration of docker-compose.yml."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

CONFIGURATION = Path(__file__).resolve().parents[2] / "nginx/default.conf"
START_SECONDS = 60.0


class NoFront(Exception):
    """nginx is missing or did not start."""


@contextlib.contextmanager
def front(folder: Path, behind: int) -> Iterator[int]:
    """Run nginx before the server at the port `behind`, and return its port. Raises NoFront.

    folder: for its files; everybody may enter it.
    """
    from tests.programs import answers, free_port

    port, text = free_port(), CONFIGURATION.read_text()
    for old, new in {
        "server web:8000;": f"server 127.0.0.1:{behind};", "server events:8001;": f"server 127.0.0.1:{behind};",
        "listen 80 default_server;": f"listen 127.0.0.1:{port};", "/tmp/arena-": f"{folder}/arena-",
        "/var/log/nginx/access.log": f"{folder}/access.log",
    }.items():  # fmt: skip
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    room = "worker_processes auto; worker_rlimit_nofile 20000; events { worker_connections 8192; }"
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; {room} http {{ {places} include {folder}/site.conf; }}"
    )
    try:
        process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")])
    except FileNotFoundError:
        raise NoFront("nginx is not installed") from None
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise NoFront(f"nginx did not start: {(folder / 'nginx.log').read_text()[-500:]}")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()
