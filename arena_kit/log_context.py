"""Holds the fields, such as the request or the job, that every log record made within a block of code carries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType

SECRET_IN_PATH = re.compile(r"(/(?:password-reset/[^/\s]+|unsubscribe|confirm)/)[^/\s]+")
"""Matches links whose last part is a secret: with it, a reader of the log could take the account or stop its mails."""

ROW_VALUES = re.compile(r"\n(DETAIL|CONTEXT): .*", re.DOTALL)
"""Matches the values that PostgreSQL adds to its errors, e.g. `Failing row contains (7, ann@example.org, ...)`."""

_bound: ContextVar[Mapping[str, object]] = ContextVar("bound", default=MappingProxyType({}))


class bound:  # noqa: N801  (it is used like a function)
    """Add fields, e.g. the request or the job, to every log record made within the block."""

    def __init__(self, **fields: object) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token = _bound.set({**_bound.get(), **self._fields})

    def __exit__(self, *_: object) -> None:
        _bound.reset(self._token)


def bind(**fields: object) -> None:
    """Add fields until the surrounding `bound` ends; does nothing outside one."""
    if about := _bound.get():
        _bound.set({**about, **fields})


def bound_fields() -> Mapping[str, object]:
    """Return the fields that a log record made now carries."""
    return _bound.get()


def without_secrets(text: str) -> str:
    """Return a text without the secrets in its links and without the row values that a database error quotes.

    Logs, Sentry and mails say what went wrong, but not whose data was involved.
    """
    return ROW_VALUES.sub("", without_links(text))


def without_links(text: str) -> str:
    """Return a text without the secrets in its links."""
    return SECRET_IN_PATH.sub(r"\1...", text)


def trace_without_secrets(trace: str, error: BaseException | None) -> str:
    """Return the formatted trace of an error with `without_secrets` applied to the messages of it and its causes."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    for said in sorted(map(str, seen), key=len, reverse=True):
        trace = trace.replace(said, without_secrets(said))
    return trace
