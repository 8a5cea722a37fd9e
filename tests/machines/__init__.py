"""Simulators of machines that are not at hand: each folder goes on PYTHONPATH."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SYSTEMS = ("windows", "macos")
LONG = "m" * 30 + "/T"
"""Makes the path of temporary files as long as that of macOS, /var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T."""


def simulated(system: str, **own: str) -> dict[str, str]:
    """Return the variables with which a Python simulates a system."""
    # A machine has temporary files of its own: on Windows, other locks than here say that they are in use.
    temporary = Path(tempfile.gettempdir()) / f"like-{system}" / (LONG if system == "macos" else "T")
    temporary.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(Path(__file__).parent / f"like_{system}"), str(ROOT)])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ARENA_", "PYTHON"))}
    return {**kept, "PYTHONPATH": path, "TMPDIR": str(temporary), **own}


def arena(*words: str) -> list[str]:
    """Return the command line of a verb of `arena`."""
    return [sys.executable, "-m", "arena_kit", *words]
