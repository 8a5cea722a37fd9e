"""gunicorn reloads a site that takes long to load."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from tests.programs import answers, free_port, running

SITE = """
import os, pathlib, time

here = pathlib.Path(__file__).parent
(here / f"loading-{os.getpid()}").touch()
while not (here / "may-load").exists():
    time.sleep(0.02)

def application(environ, start_response):
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""
DEADLINE_SECONDS = 60


def served_by(port: int) -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)) as visit:
        visit.request("GET", "/")
        return int(visit.getresponse().read())


def test_the_old_process_serves_until_the_new_one_has_loaded_the_site(tmp_path: Path) -> None:
    (tmp_path / "slow_site.py").write_text(SITE)
    gate = tmp_path / "may-load"
    gate.touch()
    port = free_port()
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    options = ("--workers=1", "--graceful-timeout=2", "--no-control-socket", "--config=python:core.handover")
    with running(variables, "-m", "gunicorn", "slow_site", f"--bind=127.0.0.1:{port}", *options) as process:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not answers(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
        old = served_by(port)
        gate.unlink()
        process.send_signal(signal.SIGHUP)
        while len(list(tmp_path.glob("loading-*"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        # Past the time in which gunicorn looks after its processes by itself.
        for _ in range(30):
            assert served_by(port) == old
            time.sleep(0.1)
        gate.touch()
        while served_by(port) == old:
            assert time.monotonic() < deadline
            time.sleep(0.05)
