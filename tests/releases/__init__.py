"""Dumps of released versions, `VERSION-KIND.tar`: backups of a small arena, from which every later version migrates.

docs/contributor/releases.md says when and how those of a version are written.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CHANGELOG = FOLDER.parent.parent / "CHANGELOG.md"


def dumps_of(kind: str) -> list[Path]:
    """Return the stored dumps of a kind of database, oldest name first. kind: `sqlite` or `postgresql`."""
    return sorted(FOLDER.glob(f"*-{kind}.tar"))


def released_versions(changelog: str = "") -> list[str]:
    """Return the versions that are out: those with a date in the changelog, newest first."""
    text = changelog or CHANGELOG.read_text()
    return re.findall(r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)$", text, re.MULTILINE)
