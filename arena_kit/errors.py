"""Errors that all parts of the arena share. Their messages are shown to people."""

from __future__ import annotations


def parts_needed(parts: str) -> str:
    """Return how to install parts of arena-kit, such as "docker,video".

    By the page of an arena, because another package of this name may be in the reader's index.
    """
    return f"install arena-kit[{parts}], as the page /kit/ of your arena shows"


class Refused(Exception):
    """A request is refused; the message has the reason and what to do.

    field: the form field at fault, if any. code: typed reason.
    """

    def __init__(self, message: str, *, field: str | None = None, code: str = "refused") -> None:
        super().__init__(message)
        self.field = field
        self.code = code


class PlatformFault(Exception):
    """The platform failed, not a player or its submission: the work is tried again, and no player forfeits.

    code: typed reason. matches: numbers of the matches of a duel of which one failed, where they are known.
    """

    def __init__(self, message: str, *, code: str, matches: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.code, self.matches = code, matches
