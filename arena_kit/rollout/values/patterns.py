"""Patterns of tasks: RE2's syntax, which is matched in linear time, always over the whole text."""

from __future__ import annotations

import re2

from arena_kit.errors import Refused

MOST_CHARACTERS = 500
MOST_MEMORY = 1 << 20
"""Bytes of a compiled pattern; RE2 refuses a pattern that needs more, e.g. one of large repetitions."""


class PatternRefused(Refused):
    """A pattern that is not understood, or that is too large."""


def pattern_check(pattern: str) -> None:
    """Raise PatternRefused if a pattern cannot be used."""
    _compiled(pattern)


def whole_matches(pattern: str, text: str) -> bool:
    """Return whether the pattern describes the whole text. A dot stands for any character but a line's end."""
    return _compiled(pattern).fullmatch(text) is not None


def _compiled(pattern: str) -> re2._Regexp[str]:
    if len(pattern) > MOST_CHARACTERS:
        sentence = f"The pattern has {len(pattern)} characters; at most {MOST_CHARACTERS} are allowed."
        raise PatternRefused(sentence, code="bad_pattern")
    options = re2.Options()
    options.max_mem, options.log_errors = MOST_MEMORY, False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        sentence = f"The pattern is not in RE2's syntax ({reason}). Look-around and back-references do not exist there."
        raise PatternRefused(sentence, code="bad_pattern") from None
