"""Removes temporary folders of earlier test runs that were killed before they could do so."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

OURS = re.compile(r"arena-(?:metrics-|libraries-)?[a-z0-9_]{8}")
"""The names that tests give to folders of sockets, files and metrics. Folders of services that may still run, of
workers, and of restored backups have other names."""
OLD_SECONDS = 24 * 3600
"""Age from which a folder belongs to no running tests."""


def remove_leftovers(parent: Path, *, now: float) -> list[Path]:
    """Remove this user's old folders of tests in a folder; return their paths. now: in seconds since 1970."""
    removed = []
    for path in sorted(parent.glob("arena-*")):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        is_ours = OURS.fullmatch(path.name) and found.st_uid == os.getuid() and path.is_dir() and not path.is_symlink()
        if is_ours and now - found.st_mtime > OLD_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed
