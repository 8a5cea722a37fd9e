"""Files that were kept for a while and are no longer: their rows go on saying that there was one."""

from __future__ import annotations

from datetime import date

REMOVED = "removed/"
"""A row names a file that retention has removed `removed/2026-11-21`, by the day; no stored file begins so."""


def removed_name(day: date) -> str:
    """What a row names instead of a file that was removed on this day."""
    return f"{REMOVED}{day.isoformat()}"


def removed_on(name: str | None) -> str:
    """The day on which a named file was removed, as 2026-11-21; empty for any other file, and for none."""
    return name.removeprefix(REMOVED) if name and name.startswith(REMOVED) else ""
