"""Errors whose messages are shown to people."""

from __future__ import annotations


class Refused(Exception):
    """A request is refused; the message says why and what to do.

    field: the form field at fault, if any. code: typed reason.
    """

    def __init__(self, message: str, *, field: str | None = None, code: str = "refused") -> None:
        super().__init__(message)
        self.field = field
        self.code = code
