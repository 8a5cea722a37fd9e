"""A small package of one service that keeps notes in SQLite, and the worlds that tests start from it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from arena_kit.rollout.attempt import Work
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.packages.package import Package, package_read
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.host import DockerWorlds, base_images
from arena_kit.rollout.worlds.world import World
from arena_kit.zips import zip_bytes

SERVER = """
import http.server, sqlite3, sys, urllib.parse
DATA = "/var/tmp/notes.sqlite"

class Notes(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with sqlite3.connect(DATA) as data:
            data.execute("INSERT INTO note (text, at) VALUES (?, datetime())", (text,))
        self.send_response(201)
        self.end_headers()

print("Notes are served")
http.server.HTTPServer(("127.0.0.1", 8000), Notes).serve_forever()
"""
SEED = """
import os, sqlite3
with sqlite3.connect("/var/tmp/notes.sqlite") as data:
    data.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, at TEXT)")
    for line in open("/seed/notes.txt"):
        data.execute("INSERT INTO note (text, at) VALUES (?, ?)", (line.strip(), "2026-01-01"))
    data.execute("INSERT INTO note (text, at) VALUES (?, ?)", (os.environ["SEED"], "2026-01-01"))
"""
COMPOSE: dict[str, Any] = {
    "services": {
        "web": {
            "image": "base:python", "files": "services/web", "command": ["python3", "-u", "/app/server.py"],
            "expose": [8000], "user": "1000:1000", "mem_limit": "128m", "pids_limit": 50,
        }
    }
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "slug": "notes", "name": "Notes", "origins": ["http://web:8000"],
    "exports": [{"service": "web", "files": "/var/tmp/notes.sqlite", "format": "sqlite"}],
    "hooks": {"seed": {"service": "web", "command": ["python3", "/app/seed.py"]}}, "volatile": {"note": ["at"]},
}  # fmt: skip
TASKS = [
    {
        "id": "milk", "task": "Add the note 'Buy milk'.",
        "checks": [{"kind": "sql", "query": "SELECT count(*) FROM note WHERE text = 'Buy milk'", "value": 1}],
        "guards": [{"kind": "unchanged", "except": {"note": "*"}}],
    },
    {"id": "bread", "task": "Is bread needed?", "answer": True},
    {"id": "idle", "task": "Do nothing.", "checks": [{"kind": "sql", "query": "SELECT 1", "value": 1}]},
]  # fmt: skip
ADD = 'import urllib.request as r; r.urlopen("http://web:8000/", data=b"Buy milk").read()'


def packed(**changes: Any) -> io.BytesIO:
    """The zip of the package. changes: `compose` of its service and `manifest`, by key; other files by name."""
    compose = {"services": {"web": {**COMPOSE["services"]["web"], **changes.pop("compose", {})}}}
    contents = {
        "compose.yml": yaml.safe_dump(compose),
        "environment.yml": yaml.safe_dump({**MANIFEST, **changes.pop("manifest", {})}),
        "services/web/server.py": SERVER, "services/web/seed.py": SEED, "seed/notes.txt": "Call Ada\n",
        "tasks.json": json.dumps(TASKS), **changes,
    }  # fmt: skip
    return io.BytesIO(
        zip_bytes((name, text if isinstance(text, bytes) else text.encode()) for name, text in contents.items())
    )


def package(file: io.BytesIO) -> Package:
    """The package in a zip."""
    return package_read(file)


def bases() -> Bases:
    """The base of players, which has Python, for services as well: every machine with an engine has it."""
    return Bases({"base:python": settings.PLAYER_BASE_IMAGE}, f"{settings.PLAYER_IMAGE_PREFIX}-app")


def worlds(folder: Path, *, memory_bytes: int = 2 << 30) -> DockerWorlds:
    """Worlds with leases in this folder."""
    pause = base_images(bases().names)["base:python"]
    return DockerWorlds(folder, memory_bytes=memory_bytes, pause_image=pause)


def task(key: str, of: Package) -> Task:
    """A task of the package."""
    return next(each for each in of.tasks.tasks if each.key == key)


def oracle(world: World, of: Task) -> Work:
    """Do what the tasks ask for, from within the world."""
    if of.key == "milk":
        assert world.run("web", ["python3", "-c", ADD], seconds=30).status == 0
    return Work(answer=True if of.key == "bread" else None, status="SUCCESS")
