"""Moments that people name: a day, or a day with a time, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time


def parse_moment(text: str) -> datetime:
    """The moment that `YYYY-MM-DD` (its end) or `YYYY-MM-DDTHH:MM[:SS][offset]` names; without an offset it is UTC.

    Raises ValueError with a sentence for whoever wrote it.
    """
    wrong = ValueError("Write a day as 2026-05-31, or a moment as 2026-05-31T18:30 (UTC).")
    words = text.strip()
    # `fromisoformat` knows more spellings, weeks among them; nobody who writes one of those by mistake would notice.
    if len(words) < 10 or words[4:5] != "-" or words[7:8] != "-" or words[10:11] not in ("", "T", " "):
        raise wrong
    try:
        if len(words) == 10:
            return datetime.combine(date.fromisoformat(words), time.max, UTC)
        found = datetime.fromisoformat(words)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong from None
