"""gunicorn reloads a site that takes long to load."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

from core.handover import post_request
from tests.programs import ROOT, answers, free_port, running
from tests.waiting import wait_until

SITE = """
import os, pathlib, time

here = pathlib.Path(__file__).parent
(here / f"loading-{os.getpid()}").touch()
if (here / "is-broken").exists():
    raise ValueError("this release cannot be loaded")
while not (here / "may-load").exists():
    time.sleep(0.02)
(here / f"loaded-{os.getpid()}").touch()

def application(environ, start_response):
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""
BROKEN_RELEASE = """
from core.settings import *
ROOT_URLCONF = "views_that_are_broken"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
import core.checks.schema
core.checks.schema.refuse_unfit_schema = lambda: None  # There is no database here.
"""
DEADLINE_SECONDS = 60


def served_by(port: int) -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)) as visit:
        visit.request("GET", "/")
        return int(visit.getresponse().read())


@contextmanager
def site(folder: Path, *, workers: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """gunicorn with a site that loads when `may-load` is there; yields it and its port."""
    (folder / "slow_site.py").write_text(SITE)
    (folder / "may-load").touch()
    port = free_port()
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    options = (f"--workers={workers}", "--graceful-timeout=2", "--no-control-socket", "--config=python:core.handover")
    with running(variables, "-m", "gunicorn", "slow_site", f"--bind=127.0.0.1:{port}", *options) as process:
        wait_until(lambda: answers(port) and len([*folder.glob("loaded-*")]) == workers)
        yield process, port


def loading(folder: Path) -> set[int]:
    """The processes that have begun to load the site, also those that have ended."""
    return {int(path.name.removeprefix("loading-")) for path in folder.glob("loading-*")}


def alive(folder: Path) -> set[int]:
    return {pid for pid in loading(folder) if Path(f"/proc/{pid}").exists()}


def test_the_old_process_serves_until_the_new_one_has_loaded_the_site(tmp_path: Path) -> None:
    with site(tmp_path, workers=1) as (process, port):
        old = served_by(port)
        (tmp_path / "may-load").unlink()
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(loading(tmp_path)) == 2)
        # Past the time in which gunicorn looks after its processes by itself.
        for _ in range(30):
            assert served_by(port) == old
            time.sleep(0.1)
        (tmp_path / "may-load").touch()
        wait_until(lambda: served_by(port) != old)


def test_old_processes_serve_while_the_new_release_cannot_be_loaded_and_end_once_it_can(tmp_path: Path) -> None:
    with site(tmp_path, workers=2) as (process, port):
        old = loading(tmp_path)
        (tmp_path / "is-broken").touch()
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: process.poll() is not None or len(loading(tmp_path)) >= 6)
        assert process.poll() is None
        assert served_by(port) in old
        (tmp_path / "is-broken").unlink()
        wait_until(lambda: not alive(tmp_path) & old)
        wait_until(lambda: len(alive(tmp_path)) == 2)
        assert served_by(port) not in old


def test_reloads_in_a_row_leave_as_many_processes_as_before_all_new(tmp_path: Path) -> None:
    with site(tmp_path, workers=3) as (process, port):
        (tmp_path / "may-load").unlink()
        first = loading(tmp_path)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(loading(tmp_path)) == 6)
        old = loading(tmp_path)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(loading(tmp_path)) == 9)
        assert served_by(port) in first
        (tmp_path / "may-load").touch()
        wait_until(lambda: not alive(tmp_path) & old)
        for _ in range(30):
            assert len(alive(tmp_path)) == 3
            time.sleep(0.1)


def test_bodies_of_requests_that_are_over_are_freed_once_they_are_many_bytes() -> None:
    class Circle:
        def __init__(self) -> None:
            self.own = self

    worker = SimpleNamespace(held_bytes=0)
    gc.disable()
    try:
        left = weakref.ref(Circle())
        for _ in range(8):
            post_request(worker, None, {"CONTENT_LENGTH": "999999999"}, None)
        assert left() is not None
        post_request(worker, None, {"CONTENT_LENGTH": "1"}, None)
        post_request(worker, None, {}, None)
        assert left() is None
        assert worker.held_bytes == 0
    finally:
        gc.enable()


def test_the_site_counts_as_loaded_when_its_views_are(tmp_path: Path) -> None:
    (tmp_path / "broken_release.py").write_text(BROKEN_RELEASE)
    variables = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "DJANGO_SETTINGS_MODULE": "broken_release"}
    loading = [sys.executable, "-c", "import core.wsgi"]
    done = subprocess.run(loading, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert "No module named 'views_that_are_broken'" in done.stderr
