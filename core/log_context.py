"""What the records of the log are about: bound by whoever begins a request or a job. Of the standard library alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

SECRET_IN_PATH = re.compile(r"(/password-reset/[^/\s]+/)[^/\s]+")
"""Who reads such a link can take the account."""

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
    """A text without the secret part of the addresses in it."""
    return SECRET_IN_PATH.sub(r"\1...", text)
