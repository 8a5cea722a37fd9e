"""The notes of tests with pages that a browser can use, and rollouts at them."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from arena_kit.environment.records import Fault
from arena_kit.rollout.agents.agent import Agent
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.building.build import package_build, package_remove
from arena_kit.rollout.loop import RolloutHost
from arena_kit.rollout.packages.package import Package
from arena_kit.rollout.play import PlayedRollout, rollout_run
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds
from arena_kit.tests.rollout import notes
from tests.machine import BROWSER_IMAGE

PAGES = """
import html, http.server, sqlite3, urllib.parse
DATA = "/var/tmp/notes.sqlite"
FORM = ("<form method=post action=/add><label>Note <input name=text></label><button>Add</button></form>"
        "<button onclick=\\"if (confirm('Sure?')) document.title = 'Sure'\\">Ask</button>"
        "<a href=/away>Away</a> <a href=/file>File</a> <a href=/download>Download</a> "
        "<a href=/loop>Loop</a> <a href=/alerts>Alerts</a>")

class Notes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/away":
            return self.send(302, "", {"Location": "http://127.0.0.1:9/"})
        if path == "/file":
            return self.send(302, "", {"Location": "file:///etc/passwd"})
        if path == "/loop":
            return self.send(200, "<script>setTimeout(() => { while (true); }, 300)</script>")
        if path == "/alerts":
            return self.send(200, "<script>setTimeout(() => { while (true) alert('Again'); }, 300)</script>")
        if path == "/download":
            return self.send(200, "x" * 1000, {"Content-Disposition": "attachment; filename=x.exe"})
        if path == "/tabs":
            many = "for (let i = 0; i < 10000; i++) window.open(location.origin)"
            return self.send(200, f"<button onclick='{many}'>Many</button>")
        if path == "/login":
            return self.send(200, "<form method=post action=/login><label>Name <input name=name></label></form>")
        name = "Ada" if "name=Ada" in self.headers.get("Cookie", "") else "nobody"
        with sqlite3.connect(DATA) as data:
            rows = "".join(f"<li>{html.escape(text)}</li>" for (text,) in data.execute("SELECT text FROM note"))
        self.send(200, f"<title>Notes</title><h1>Notes of {name}</h1>{FORM}<ul>{rows}</ul>")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = urllib.parse.parse_qs(body)
        if self.path == "/login":
            return self.send(303, "", {"Location": "/", "Set-Cookie": "name=" + form["name"][0]})
        with sqlite3.connect(DATA) as data:
            data.execute("INSERT INTO note (text, at) VALUES (?, datetime())", (form["text"][0],))
        self.send(303, "", {"Location": "/"})

    def send(self, status, text, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Notes).serve_forever()
"""
LOGINS = {"ada": {"url": "/login", "fields": {"label=Name": "Ada"}, "done": "/"}}
TASKS = """[
 {"id": "milk", "task": "Add the note 'Buy milk', and tell how many notes there are then.", "login": "ada",
  "checks": [{"kind": "sql", "query": "SELECT count(*) FROM note WHERE text = 'Buy milk'", "value": 1},
             {"kind": "answer", "equals": 3},
             {"kind": "request", "method": "POST", "path": "/add", "form": {"text": "Buy milk"}, "status": 303}],
  "guards": [{"kind": "unchanged", "except": {"note": {"added": 1}}}, {"kind": "stays_on"}],
  "limits": {"steps": 12, "seconds": 300},
  "oracle": [["fill", "label=Note", "Buy milk"], ["click", "role=button[name=Add]"], ["answer", 3]]}
]"""


@dataclasses.dataclass(frozen=True)
class Stage:
    """A package with pages, built, and where rollouts at it are played."""

    package: Package
    built: BuiltPackage
    worlds: DockerWorlds
    host: RolloutHost
    folder: Path

    def task(self, **changes: Any) -> Task:
        """The task, with some of its parts changed."""
        return dataclasses.replace(self.package.tasks.tasks[0], **changes)

    def run(self, make_agent: Callable[[], Agent], task: Task, name: str, **options: Any) -> tuple[PlayedRollout, Path]:
        """A rollout and its folder; as everywhere, one that a busy machine has spoilt is tried again."""
        for number in range(3):
            folder = self.output(f"{name}-{number}")
            played = rollout_run(self.host, self.built, task, lambda _: make_agent(), folder, name=name, **options)
            if played.verdict.fault is not Fault.PLATFORM:
                break
        return played, folder

    def output(self, name: str) -> Path:
        """A new folder for a recording."""
        folder = self.folder / "rollouts" / name
        folder.mkdir(parents=True)
        return folder


def packed() -> io.BytesIO:
    """The package as a zip."""
    return notes.packed(**{
        "services/web/server.py": PAGES, "tasks.json": TASKS, "manifest": {"logins": LOGINS, "slug": "pages"},
    })  # fmt: skip


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """Build the package; its images go at the end."""
    folder = Path(tempfile.mkdtemp(prefix="arena-"))
    try:
        worlds = notes.worlds(folder / "worlds", memory_bytes=4 << 30)
        file = packed()
        package = notes.package(file)
        built = package_build(file, package, worlds=worlds, bases=notes.bases(), log=lambda _: None, seed=7)
        try:
            host = RolloutHost(worlds, BrowserHost(BROWSER_IMAGE, folder / "channel"))
            yield Stage(package, built, worlds, host, folder)
        finally:
            package_remove(built, notes.bases())
    finally:
        shutil.rmtree(folder)
