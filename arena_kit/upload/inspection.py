"""Inspects whole archives in short-lived processes, a few at once, so that an upload cannot exhaust the web process.

`inspect_apart` runs this module with `python -m`, which decompresses the archive, reads its requirements and compiles
its Python files under limits.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from arena_kit.upload.findings import THIS_PYTHON, Findings, archive_findings
from arena_kit.upload.pythons import Version, read_version
from arena_kit.upload.zip_safety import LIMITS, READ_BYTES, ArchiveRefused

logger = logging.getLogger(__name__)

PROCESSES = max(1, (os.cpu_count() or 1) // 2)
"""Most inspections that run at once on this machine."""
SENDERS = 256
"""Number of groups that senders are divided into; each group has one archive inspected at a time."""
PATIENCE_SECONDS = 1.0
"""How long a request waits for its turn."""
MOST_SECONDS = 10.0
"""How long a request waits for its inspection; an archive that takes longer is left to the build."""
MEMORY_BYTES = 1 << 30
NICENESS = 5
"""A person waits for the answer: on a host whose cores are all taken, the least priority would take ten seconds."""
INSPECTED = 0


def inspect_apart(file: IO[bytes], *, sender: str, pythons: Sequence[Version] = THIS_PYTHON) -> bool:
    """Inspect an archive in a process of its own; return False when it could not finish and is left to the build.

    sender: identifies the uploader, who has one archive inspected at a time. pythons: the versions of Python that
    base images have, the default first. Raises ArchiveRefused, also for bad requirements.
    """
    findings = findings_apart(file, sender=sender, pythons=pythons, warns=False)
    if findings is None:
        return False
    for error in findings.errors:
        raise ArchiveRefused(error.message, code=error.code, file=error.file, line=error.line)
    return True


def findings_apart(
    file: IO[bytes], *, sender: str, pythons: Sequence[Version] = THIS_PYTHON, warns: bool = True
) -> Findings | None:
    """Return everything that is found in an archive, in a process of its own; None when it could not finish.

    sender, pythons: as in `inspect_apart`. warns: whether warnings are looked for, too.
    """
    group = zlib.crc32(sender.encode()) % SENDERS
    try:
        folder = _locks()
        with contextlib.ExitStack() as held:
            for names in ([f"sender-{group}"], [f"process-{number}" for number in range(PROCESSES)]):
                if not _hold_one(folder, names, held):
                    return None
            return _inspect(file, pythons, warns=warns)
    except OSError as error:
        # A full disk or a lack of processes is not the sender's fault.
        logger.warning("An upload could not be inspected at once: %s", error)
        return None


def _locks() -> Path:
    """Return the folder of the lock files, shared by all processes of this user on this machine. Raises OSError."""
    folder = Path(tempfile.gettempdir()) / f"arena-inspections-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user.")
    return folder


def _hold_one(folder: Path, names: list[str], held: contextlib.ExitStack) -> bool:
    """Lock one of the files within PATIENCE_SECONDS, until `held` is closed; return whether that worked."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        for name in names:
            lock = held.enter_context((folder / name).open("wb"))
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            lock.close()
        if time.monotonic() > until:
            return False
        time.sleep(0.05)


def _inspect(file: IO[bytes], pythons: Sequence[Version], *, warns: bool) -> Findings | None:
    arguments = ["--warn"] * warns + [f"{major}.{minor}" for major, minor in pythons]
    root = Path(__file__).resolve().parents[__name__.count(".")]
    with (
        _with_descriptor(file) as archive,
        subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", __name__, *arguments],
            stdin=archive,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(root)},
            start_new_session=True,
        ) as child,
    ):
        try:
            said, _ = child.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if child.poll() is None:
                # The whole group, because the process may have started a compiler.
                os.killpg(child.pid, signal.SIGKILL)
    # Any other status comes from a limit of the process or of this machine; the build decides then.
    return Findings.of(json.loads(said)) if child.returncode == INSPECTED else None


@contextlib.contextmanager
def _with_descriptor(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the file, or a copy of it when the file has no descriptor that a process can inherit."""
    with contextlib.ExitStack() as stack:
        file.seek(0)
        try:
            file.fileno()
        except (OSError, AttributeError):
            copy = stack.enter_context(tempfile.TemporaryFile())
            while data := file.read(READ_BYTES):
                copy.write(data)
            copy.flush()
            copy.seek(0)
            file = copy
        yield file


def _main() -> int:
    """Inspect the archive at standard input and print what is found as one line of JSON."""
    os.nice(NICENESS)
    limits = (
        (resource.RLIMIT_CPU, LIMITS.compile_seconds),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, value in limits:
        resource.setrlimit(kind, (value, value))
    words = sys.argv[1:]
    pythons = [version for version in map(read_version, words) if version is not None]
    found = archive_findings(sys.stdin.buffer, "/dev/stdin", warns="--warn" in words, pythons=pythons)
    sys.stdout.write(json.dumps(found.as_json()))
    return INSPECTED


if __name__ == "__main__":
    raise SystemExit(_main())
