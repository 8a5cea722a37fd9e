"""What the records of the log are about: bound by whoever begins a request or a job. Of the standard library alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

SECRET_IN_PATH = re.compile(r"(/(?:password-reset/[^/\s]+|unsubscribe|confirm)/)[^/\s]+")
"""Who reads such a link can take the account, or stop its mails."""

ROW_VALUES = re.compile(r"\n(DETAIL|CONTEXT): .*", re.DOTALL)
"""What PostgreSQL adds to its errors: `Failing row contains (7, ann@example.org, ...)`, and the like."""

_bound: ContextVar[Mapping[str, object]] = ContextVar("bound", default=MappingProxyType({}))


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Let every record within say what it is about, e.g. the request or the job."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def bind(**fields: object) -> None:
    """Say more, until the surrounding `bound` ends; without one nothing is said."""
    if about := _bound.get():
        _bound.set({**about, **fields})


def bound_fields() -> Mapping[str, object]:
    """What the records of this moment are about."""
    return _bound.get()


def without_secrets(text: str) -> str:
    """A text without the secret part of the addresses in it, and without the values of rows that an error names.

    Logs, Sentry and mails say what went wrong, not with whose data.
    """
    return ROW_VALUES.sub("", without_links(text))


def without_links(text: str) -> str:
    """A text without the secret part of the addresses in it."""
    return SECRET_IN_PATH.sub(r"\1...", text)


def trace_without_secrets(trace: str, error: BaseException | None) -> str:
    """As `without_secrets`, for the formatted trace of an error: what errors say is shortened, what follows stays."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    for said in sorted(map(str, seen), key=len, reverse=True):
        trace = trace.replace(said, without_secrets(said))
    return trace
