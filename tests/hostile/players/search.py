"""Looks for the secrets of the referee, of its opponent and of other submissions in all that it can read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import say, tried

SECRET = re.compile(rb"secret-of-\w+-[0-9a-f]{32}")
SKIPPED = ("/proc", "/sys", "/usr", "/lib", "/boot")
MOST_FILES = 4000
ENGINE = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")


def files() -> Iterator[str]:
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if not os.path.join(folder, name).startswith(SKIPPED)]
        for name in names:
            yield os.path.join(folder, name)


def of_processes() -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*"):
        yield from (str(entry / name) for name in ("environ", "cmdline", "cwd/secret.txt", "root/secret.txt"))


def search(paths: Iterator[str]) -> str:
    found, read = [], 0
    for _, path in zip(range(MOST_FILES), paths, strict=False):
        try:
            if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                found += SECRET.findall(Path(path).read_bytes())
                read += 1
        except OSError:
            continue
    for secret in found:
        say(secret.decode())
    return f"{len(found)} secrets, {'some' if read else 'no'} files"


def memory() -> str:
    """How many processes but this one can be opened for reading."""
    opened = 0
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) != os.getpid():
            try:
                (entry / "mem").open("rb").close()
                opened += 1
            except OSError:
                continue
    return f"{opened} processes opened"


class Player(probe.Player):
    def attack(self) -> None:
        tried("environment", lambda: [name for name in os.environ if "SECRET" in name or name.startswith("DJANGO")])
        tried("files", search, files())
        tried("processes", search, of_processes())
        tried("memory", memory)
        tried("channel", lambda: sorted(name for name in os.listdir("/channel") if name.endswith(".sock")))
        tried(
            "folders beside", lambda: sorted(n for n in os.listdir("/player/..") if n.startswith(("0", "1", "arena")))
        )
        for path in ENGINE:
            tried(f"engine {path}", os.stat, path)
