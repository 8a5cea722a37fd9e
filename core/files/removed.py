"""Names of files that retention has deleted; their rows still show that there was a file."""

from __future__ import annotations

from datetime import date

REMOVED = "removed/"
"""A row whose file was deleted has the name `removed/2026-11-21`, with the day; no stored file's name begins so."""


def removed_name(day: date) -> str:
    """Return the name that replaces that of a file deleted on this day."""
    return f"{REMOVED}{day.isoformat()}"


def removed_on(name: str | None) -> str:
    """Return the day on which a named file was deleted, as 2026-11-21; empty for any other name."""
    return name.removeprefix(REMOVED) if name and name.startswith(REMOVED) else ""
