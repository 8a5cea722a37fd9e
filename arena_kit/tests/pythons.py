"""Older interpreters that this machine has beside its own, for what must run on them too."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

OLDER = range(8, 11)
"""Minor versions of Python 3 for which the player server is written, and nothing else of the arena."""


@cache
def older_pythons() -> tuple[Path, ...]:
    """Return an interpreter of each of these versions, oldest first, where one is installed."""
    folders = [Path("/usr/bin"), Path("/usr/local/bin")]
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = []
    for minor in OLDER:
        places = [*folders, *sorted(root.glob(f"versions/3.{minor}.*/bin"))]
        found += [path for place in places if (path := place / f"python3.{minor}").exists()][:1]
    return tuple(found)
