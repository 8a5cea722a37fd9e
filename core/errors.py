"""Errors of the core that a person gets to see."""

from __future__ import annotations


class Refused(Exception):
    """Something a person asked for cannot be done; the message says why and what to do.

    field: the form field it belongs to, if any. code: typed reason.
    """

    def __init__(self, message: str, *, field: str | None = None, code: str = "refused") -> None:
        super().__init__(message)
        self.field = field
        self.code = code


class StoreFailed(Exception):
    """The artifact store takes no file now: the platform's fault. The message is a sentence for a person."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class QuotaExceeded(Refused):
    """A person has used up what they may use for now.

    code: `quota_` and the quota's name. retry_after_seconds: when it is worth trying again; None when waiting alone
    does not help.
    """

    def __init__(self, message: str, *, code: str, retry_after_seconds: int | None = None) -> None:
        super().__init__(message, field="archive", code=code)
        self.retry_after_seconds = retry_after_seconds
