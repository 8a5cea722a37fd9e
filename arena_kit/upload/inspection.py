"""Inspects whole archives in short-lived processes, a few at once, so that an upload cannot exhaust the web process.

`inspect_apart` runs `arena_kit.upload.inspected`, which decompresses the archive, reads its requirements and compiles
its Python files under limits. Every arena of a machine has its own line, so that a busy one does not hold up
another; within an arena requests take turns in the order in which they came, and each sender has one turn at a time.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO

from arena_kit.machine import files, processes
from arena_kit.older import SAFE_PATH, StrEnum
from arena_kit.upload.findings import THIS_PYTHON, Findings
from arena_kit.upload.pythons import Version
from arena_kit.upload.zip_safety import READ_BYTES, ArchiveRefused

logger = logging.getLogger(__name__)

PROCESSES = max(1, (os.cpu_count() or 1) // 2)
"""Most inspections of an arena that run at once on this machine."""
ARENAS, SENDERS = 64, 256
"""Numbers of groups that arenas and senders are divided into, which limits the number of lock files. Each group of
senders has one archive inspected at a time."""
PLACES = 4
"""Most requests of an arena that wait in line; each holds a thread of the site."""
PATIENCE_SECONDS, PLACE_SECONDS, LINE_SECONDS = 1.0, 5.0, 60.0
"""How long an upload waits for its turn; and how long a request whose only answer is the verdict waits for a place in
line, and in line. Proxies give a request two minutes."""
MOST_SECONDS, VERDICT_SECONDS = 10.0, 50.0
"""How long an upload waits for its inspection, which is left to the build if it takes longer; and how long a request
whose only answer is the verdict. On a host whose cores are all taken an inspection takes many times its own time."""
NICENESS = 5
"""A person waits for the answer: on a host whose cores are all taken, the least priority would take ten seconds."""
PROMPT_SECONDS = 5.0
"""How long the inspection of a request whose only answer is the verdict has full priority: others wait behind it, and
it is over by then unless the archive is unusual or the host is very busy."""
PROGRAM = "arena_kit.upload.inspected"


class Obstacle(StrEnum):
    """Why an inspection is not finished."""

    SENDER_BUSY = "sender_busy"
    ARENA_BUSY = "arena_busy"
    UNFINISHED = "unfinished"
    """It takes too long, it exceeds a limit of its process, or this machine is in trouble."""


def inspect_apart(
    file: IO[bytes],
    *,
    sender: str,
    arena: str = "",
    pythons: Sequence[Version] = THIS_PYTHON,
    is_whole: bool = True,
    refuses: Collection[str] = (),
) -> bool:
    """Inspect an archive in a process of its own; return False when it could not finish and is left to the build.

    sender: identifies the uploader, who has one archive inspected at a time. arena: identifies the arena on this
    machine. pythons: the versions of Python that base images have, the default first. is_whole, refuses: as in
    `archive_findings`. Raises ArchiveRefused, also for bad requirements.
    """
    findings = findings_apart(
        file, sender=sender, arena=arena, pythons=pythons, warns=False, is_whole=is_whole, refuses=refuses
    )
    if isinstance(findings, Obstacle):
        return False
    mistakes = [ArchiveRefused(one.message, code=one.code, file=one.file, line=one.line) for one in findings.errors]
    if mistakes:
        mistakes[0].others = tuple(mistakes[1:])
        raise mistakes[0]
    return True


def findings_apart(
    file: IO[bytes],
    *,
    sender: str,
    arena: str = "",
    pythons: Sequence[Version] = THIS_PYTHON,
    warns: bool = True,
    is_whole: bool = True,
    waits: bool = False,
    refuses: Collection[str] = (),
) -> Findings | Obstacle:
    """Return everything that is found in an archive, in a process of its own, or why that could not finish.

    sender, arena, pythons, is_whole, refuses: as in `inspect_apart`. warns: whether warnings are looked for. waits:
    whether the request waits for LINE_SECONDS in line and for VERDICT_SECONDS, because no build inspects the archive.
    """
    group = zlib.crc32(f"{arena}\n{sender}".encode()) % SENDERS
    now = time.monotonic()
    try:
        folder = _locks()
        with contextlib.ExitStack() as held:
            place, line = (PLACE_SECONDS, LINE_SECONDS) if waits else (PATIENCE_SECONDS, PATIENCE_SECONDS)
            if not _lock_one(folder, [f"sender-{group}"], held, until=now + place):
                return Obstacle.SENDER_BUSY
            if not _lock_process(folder, arena, held, place_until=now + place, until=now + max(place, line)):
                return Obstacle.ARENA_BUSY
            prompt, most = (PROMPT_SECONDS, max(MOST_SECONDS, VERDICT_SECONDS)) if waits else (0.0, MOST_SECONDS)
            words = ["--warn"] * warns + ["--whole"] * is_whole + [f"{major}.{minor}" for major, minor in pythons]
            words += [f"--refuse={code}" for code in refuses]
            found = _inspect(file, words, prompt_seconds=prompt, most_seconds=most)
            return found or Obstacle.UNFINISHED
    except OSError as error:
        # A full disk or a lack of processes is not the sender's fault.
        logger.warning("An upload could not be inspected at once: %s", error)
        return Obstacle.UNFINISHED


def _locks() -> Path:
    """Return the folder of the lock files, shared by all processes of this user on this machine. Raises OSError."""
    folder = files.temporary_of_user("arena-inspections")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or files.is_of_another(found):
        raise PermissionError(f"{folder} belongs to another user.")
    return folder


def _names(kind: str, count: int, arena: str) -> list[str]:
    """Return the names of an arena's lock files of a kind."""
    group = zlib.crc32(arena.encode()) % ARENAS
    return [f"{kind}-{group}-{number}" for number in range(count)]


def _lock_process(folder: Path, arena: str, held: contextlib.ExitStack, *, place_until: float, until: float) -> bool:
    """Wait in line for one of the arena's processes, and lock it until `held` is closed; return whether that worked.

    place_until, until: the monotonic clock until which it waits for a place in line, and in line. The line is first
    come, first served: only who holds a place can take the one in front of it.
    """
    place = contextlib.ExitStack()
    try:
        last = place_until
        for name in reversed(_names("place", PLACES, arena)):
            in_front = contextlib.ExitStack()
            if not _lock_one(folder, [name], in_front, until=last):
                return False
            place.close()
            place, last = in_front, until
        return _lock_one(folder, _names("process", PROCESSES, arena), held, until=until)
    finally:
        place.close()


def _lock_one(folder: Path, names: list[str], held: contextlib.ExitStack, *, until: float) -> bool:
    """Lock one of the files until `held` is closed; return whether that worked. until: of the monotonic clock."""
    while True:
        for name in names:
            lock = held.enter_context((folder / name).open("ab"))
            if files.lock(lock.fileno()):
                return True
            lock.close()
        if time.monotonic() > until:
            return False
        time.sleep(0.05)


def _inspect(
    file: IO[bytes], arguments: Sequence[str], *, prompt_seconds: float, most_seconds: float
) -> Findings | None:
    """Inspect an archive; return None if it takes too long or exceeds a limit.

    arguments: of PROGRAM. prompt_seconds: how long it has full priority.
    """
    root = Path(__file__).resolve().parents[__name__.count(".")]
    with (
        _openable(file) as (archive, path),
        subprocess.Popen(
            [sys.executable, *SAFE_PATH, "-s", "-m", PROGRAM, path, *arguments],
            stdin=archive,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=processes.child_variables({"PYTHONPATH": str(root)}),
            **processes.apart(),
        ) as child,
    ):
        try:
            said = _said(child, prompt_seconds, most_seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if child.poll() is None:
                # The whole group, because the process may have started a compiler.
                processes.tree_end(child)
    # Any other status comes from a limit of the process or of this machine; the build decides then.
    return Findings.of(json.loads(said)) if child.returncode == 0 else None


def _said(child: subprocess.Popen[bytes], prompt_seconds: float, most_seconds: float) -> bytes:
    """Return what an inspection prints; it has less priority after `prompt_seconds`. Raises TimeoutExpired."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.communicate(timeout=prompt_seconds)[0]
    processes.step_back(child, NICENESS)
    return child.communicate(timeout=most_seconds - prompt_seconds)[0]


@contextlib.contextmanager
def _openable(file: IO[bytes]) -> Iterator[tuple[IO[bytes], str]]:
    """Yield the file, or a copy of it, that a process can inherit, and the path by which that process can open it."""
    with contextlib.ExitStack() as stack:
        file.seek(0)
        path = files.STDIN_PATH
        try:
            has_descriptor = file.fileno() >= 0
        except (OSError, AttributeError):
            has_descriptor = False
        if not (has_descriptor and path):
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-inspected-"))) / "copy.zip"
            with copy.open("wb") as target:
                shutil.copyfileobj(file, target, READ_BYTES)
            file, path = stack.enter_context(copy.open("rb")), path or str(copy)
        yield file, path
