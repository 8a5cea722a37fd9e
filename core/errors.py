"""Errors of core that people see."""

from __future__ import annotations

from arena_kit.errors import Refused

__all__ = ["QuotaExceeded", "Refused", "StoreFailed"]


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
