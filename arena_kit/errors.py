"""Errors that a person gets to see."""

from __future__ import annotations


class Refused(Exception):
    """Something a person asked for cannot be done; the message says why and what to do.

    field: the form field it belongs to, if any. code: typed reason.
    """

    def __init__(self, message: str, *, field: str | None = None, code: str = "refused") -> None:
        super().__init__(message)
        self.field = field
        self.code = code
