"""One sentence about what is wrong with an environment from outside: the file, the line, and what was raised."""

from __future__ import annotations

import traceback
from pathlib import Path

from arena_kit.text import plain_text

MESSAGE_CHARACTERS = 300


class TooLong(BaseException):
    """The code takes too long; not an Exception, so that it rarely catches this."""


def sentence_of(error: BaseException, folder: Path) -> str:
    """Return where an exception was raised in a folder, with its type and message.

    A folder's own code often fails far below itself, so the place is the innermost line of a file of the folder. An
    error of the arena that was raised from one of the folder's code is reported as that one.
    """
    if isinstance(error, SyntaxError) and error.filename is not None and _is_within(error.filename, folder):
        return f"{_name(error.filename, folder)}, line {error.lineno}: {_what(error)}."
    for raised in _chain(error):
        frames = traceback.extract_tb(raised.__traceback__)
        places = [frame for frame in frames if _is_within(frame.filename, folder)]
        if places and (isinstance(raised, TooLong) or not _is_own(raised)):
            return f"{_name(places[-1].filename, folder)}, line {places[-1].lineno}: {_what(raised)}."
    return f"{folder.name}: {_what(error)}."


def _what(error: BaseException) -> str:
    text = _message(error) if _is_own(error) else f"{type(error).__name__}: {_message(error)}"
    return " ".join(plain_text(text).split())[:MESSAGE_CHARACTERS].rstrip(": .")


def _is_own(error: BaseException) -> bool:
    """Return whether an error is one of the arena's, whose message is a sentence."""
    return type(error).__module__.startswith("arena_kit.")


def _message(error: BaseException) -> str:
    try:
        return str(error.msg) if isinstance(error, SyntaxError) else str(error)
    except Exception:
        return "its message cannot be read"


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and those that it was raised from."""
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        one = one.__cause__ or one.__context__
    return found


def _is_within(filename: str, folder: Path) -> bool:
    return Path(filename).is_relative_to(folder)


def _name(filename: str, folder: Path) -> str:
    return str(Path(filename).relative_to(folder.parent))
