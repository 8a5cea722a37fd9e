"""Decodes a site's answer, which is as untrusted as any input: types are checked, texts are cleaned."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from arena_kit.client.errors import SiteError, Trouble
from arena_kit.text import plain_line, plain_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
Value = TypeVar("Value")
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Line(str):
    """A text of an answer as one clean line."""

    __slots__ = ()


class Text(str):
    """A text of several lines without control characters."""

    __slots__ = ()


class Number(float):
    """A finite number."""

    __slots__ = ()


def decode(kind: type[Record], data: object, what: str) -> Record:
    """Return a record of an answer; its field `answer`, where there is one, is the answer as it came.

    what: names the answer in sentences. Raises SiteError for a missing field or a wrong type.
    """
    found = _convert(kind, data, what)
    return replace(found, answer=data) if hasattr(found, "answer") else found


def decode_field(kind: type[Value], data: object, name: str, what: str) -> Value:
    """Return one field of an answer. Raises SiteError as `decode` does."""
    fields = _convert(dict[str, Any], data, what)
    if name not in fields:
        raise not_understood(f"{what} has no {name}")
    return _convert(kind, fields[name], f"{what}: {name}")


def not_understood(why: str) -> SiteError:
    """Return the error of an answer that is not understood. why: e.g. `the replay has no states`."""
    return SiteError(
        f"The site's answer is not understood: {plain_line(why)[:200]}. The site is older or newer than this "
        "arena-kit; install the one that the site offers.",
        trouble=Trouble.NOT_UNDERSTOOD,
    )


def _convert(kind: type[Value], data: object, what: str) -> Value:
    try:
        return msgspec.convert(data, kind, dec_hook=_clean)
    except (msgspec.ValidationError, RecursionError) as error:
        raise not_understood(f"{what}: {error}") from None


def _clean(kind: type, value: object) -> object:
    """Return a text or a number of an answer cleaned. Raises TypeError, which names the place in the answer."""
    if kind is Number:
        return _finite(msgspec.convert(value, float))
    if not isinstance(value, str):
        raise TypeError("Expected a text")
    return Line(plain_line(value)) if kind is Line else Text(plain_text(value))


def _finite(value: float) -> Number:
    if not math.isfinite(value):
        raise TypeError("Expected a finite number")
    return Number(value)
