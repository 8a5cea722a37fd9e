"""Errors of core that people see."""

from __future__ import annotations

import errno

from arena_kit.errors import Refused

__all__ = ["QuotaExceeded", "Refused", "StoreFailed", "means_full_disk"]

FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
FULL_SQLSTATE, FULL_SQLITE = "53100", "SQLITE_FULL"
"""The words of PostgreSQL and SQLite for a disk without room."""


class StoreFailed(Exception):
    """The artifact store accepts no file now, a platform fault. The message is a sentence for a person."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class QuotaExceeded(Refused):
    """A person has used up a quota for now.

    code: `quota_` and the quota's name. retry_after_seconds: when a new attempt makes sense; None when waiting does
    not help.
    """

    def __init__(self, message: str, *, code: str, retry_after_seconds: int | None = None) -> None:
        super().__init__(message, field="archive", code=code)
        self.retry_after_seconds = retry_after_seconds


def means_full_disk(error: BaseException | None) -> bool:
    """Return whether an error was caused by a disk, a store or a database without room."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL_ERRNOS:
            return True
        # The drivers' own errors, which Django's are caused by.
        if getattr(error, "pgcode", "") == FULL_SQLSTATE or getattr(error, "sqlite_errorname", "") == FULL_SQLITE:
            return True
        error = error.__cause__
    return False
