"""Numbers as people read them."""

from __future__ import annotations


def short(value: float) -> str:
    """Write a number for a table or a sentence: 0, 2.5, −12, 12346, 2.5e+06."""
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}" if value else "0"
    return text.replace("-", "−")


def ordinal(number: int) -> str:
    """Write a rank as an ordinal: 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def duration(seconds: int) -> str:
    """Write a duration in rounded words: 50 seconds, 3 minutes, 7 hours."""
    for size, word in ((3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)} {word}s"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
