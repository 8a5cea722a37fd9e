"""Text that people and players give: without what is invisible, and without what harms terminals and databases."""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters, marks and signs that show nothing, though Unicode calls them neither spaces nor controls."""
MARKS_IN_A_ROW = 2
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Text of a player without control characters and lone surrogates, which databases and terminals dislike."""
    return _CONTROL.sub("", text)


def plain_line(text: str) -> str:
    """One line without controls, marks of direction, characters of no width and lone surrogates.

    They make a word look like another one, turn what stands around it, or cannot be stored. Spaces of all kinds become
    single ones, and of marks above each other (more than Vietnamese needs) those too many go.
    """
    kept: list[str] = []
    marks = 0
    for letter in unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode()):
        category = unicodedata.category(letter)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in ("Zs", "Zl", "Zp") or letter in "\t\n\r":
            kept.append(" ")
        elif category not in ("Cc", "Cf", "Cs", "Cn") and letter not in INVISIBLE and marks <= MARKS_IN_A_ROW:
            kept.append(letter)
    return " ".join("".join(kept).split())
