"""Runs a module of the arena on data that may be hostile: in a short-lived process, under limits.

Decoding and drawing hold Python's lock from beginning to end, and a few bytes can take minutes or all of the memory.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import BoundedSemaphore

from arena_kit.machine.processes import limit

ROOT = Path(__file__).resolve().parents[2]
WALL_SECONDS = 20.0
MEMORY_BYTES = 1 << 30
TURNS = BoundedSemaphore(2)
"""How many pictures this process has drawn or read at once."""


class TookTooMuch(Exception):
    """Work on data takes too much time or memory, or fails, or the machine is too busy for it."""


def run_apart(module: str, data: bytes, *arguments: str) -> bytes:
    """Run a module with `data` as its standard input, and return its standard output. Raises TookTooMuch.

    It is taken at its word that it calls `limits`, and it sees nothing of the environment of this process.
    """
    if not TURNS.acquire(timeout=WALL_SECONDS):
        raise TookTooMuch
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-s", "-m", module, *arguments],
            input=data,
            capture_output=True,
            timeout=WALL_SECONDS,
            check=True,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
        )
    except (OSError, subprocess.SubprocessError):
        raise TookTooMuch from None
    finally:
        TURNS.release()
    return done.stdout


def limits(processor_seconds: int) -> None:
    """Limit this process: its time, its memory, and no files."""
    for name, most in {"CPU": processor_seconds, "AS": MEMORY_BYTES, "FSIZE": 0, "CORE": 0}.items():
        limit(name, most)
