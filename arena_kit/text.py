"""Cleans text from people and players of invisible characters and of those that harm terminals or databases."""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing although Unicode counts them neither as spaces nor as controls."""
MARKS_IN_A_ROW = 2
"""At most this many combining marks are kept on one letter; Vietnamese needs two."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Return the text without the control characters and lone surrogates that databases and terminals cannot take."""
    return _CONTROL.sub("", text)


def plain_line(text: str) -> str:
    """Return one line without controls, direction marks, zero-width characters and lone surrogates.

    These make a word look like another one, turn the text around it, or cannot be stored. Runs of any kind of white
    space become one space, and combining marks beyond MARKS_IN_A_ROW are removed.
    """
    kept: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode()):
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in ("Zs", "Zl", "Zp") or character in "\t\n\r":
            kept.append(" ")
        elif category not in ("Cc", "Cf", "Cs", "Cn") and character not in INVISIBLE and marks <= MARKS_IN_A_ROW:
            kept.append(character)
    return " ".join("".join(kept).split())
