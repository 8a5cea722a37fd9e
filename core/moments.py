"""Moments that people type: a day, or a day with a time, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time


def parse_moment(text: str) -> datetime:
    """Parse `YYYY-MM-DD` (the end of that day) or `YYYY-MM-DDTHH:MM[:SS][offset]`; the default offset is UTC.

    Raises ValueError with a sentence for the person who typed it.
    """
    wrong = ValueError("Write a day as 2026-05-31, or a moment as 2026-05-31T18:30 (UTC).")
    words = text.strip()
    # `fromisoformat` also accepts other forms, e.g. week dates, which are more likely typing errors.
    if len(words) < 10 or words[4:5] != "-" or words[7:8] != "-" or words[10:11] not in ("", "T", " "):
        raise wrong
    try:
        if len(words) == 10:
            return datetime.combine(date.fromisoformat(words), time.max, UTC)
        found = datetime.fromisoformat(words)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong from None
