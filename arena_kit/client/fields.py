"""Reads fields of a site's answer, which is as untrusted as any input: types are checked, texts are cleaned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from arena_kit.client.errors import SiteError, Trouble
from arena_kit.text import plain_line, plain_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WHOLE_LIMIT = 2**63
Record = TypeVar("Record", bound="DataclassInstance")


class Fields:
    """The fields of one JSON object of an answer. Every method raises SiteError for a missing field or a wrong type."""

    def __init__(self, data: object, what: str) -> None:
        """what: names the object in sentences."""
        self.what = what
        if not isinstance(data, dict):
            raise self.wrong("is not an object")
        self.data: Mapping[str, Any] = data

    def line(self, name: str) -> str:
        """Return a text as one clean line."""
        return plain_line(self._text(name))

    def text(self, name: str) -> str:
        """Return a text of several lines without control characters."""
        return plain_text(self._text(name))

    def whole(self, name: str) -> int:
        value = self._get(name)
        if type(value) is not int or not -WHOLE_LIMIT <= value < WHOLE_LIMIT:
            raise self.wrong(f"has no whole number as {name}")
        return value

    def number(self, name: str) -> float:
        value = self._get(name)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.wrong(f"has no number as {name}")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self._get(name)
        if type(value) is not bool:
            raise self.wrong(f"has neither true nor false as {name}")
        return value

    def has(self, name: str) -> bool:
        """Return whether a field is there and not null."""
        return self.data.get(name) is not None

    def part(self, name: str) -> Fields:
        return Fields(self._get(name), f"{self.what}: {name}")

    def parts(self, name: str) -> list[Fields]:
        return [Fields(one, f"{self.what}: {name}") for one in self._list(name)]

    def wholes(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        found = self._list(name)
        if not all(type(one) is int for one in found):
            raise self.wrong(f"has something else than whole numbers as {name}")
        return tuple(found)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of finite numbers."""
        found = self._list(name)
        if not all(type(one) in (int, float) and math.isfinite(one) for one in found):
            raise self.wrong(f"has something else than numbers as {name}")
        return tuple(float(one) for one in found)

    def lines(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, each as one clean line."""
        found = self._list(name)
        if not all(isinstance(one, str) for one in found):
            raise self.wrong(f"has something else than texts as {name}")
        return tuple(plain_line(one) for one in found)

    def raw_text(self, name: str) -> str:
        """Return a text as it came, to compare it; it must never be shown."""
        return self._text(name)

    def read(self, kind: type[Record], **given: object) -> Record:
        """Return a record of this object: each field of the class that is not given is read by its name and type.

        A text is read as one line, and the field `answer` is the whole object as it came.
        """
        for field in fields(kind):
            if field.name == "answer":
                given[field.name] = self.data
            elif field.name not in given:
                given[field.name] = _READERS[str(field.type)](self, field.name)
        return kind(**given)

    def wrong(self, how: str) -> SiteError:
        """Return the error of an answer that is not understood. how: e.g. `has no name`."""
        return SiteError(
            f"The site's answer is not understood: {self.what} {how}. The site is older or newer than this arena-kit; "
            "install the one that the site offers.",
            trouble=Trouble.NOT_UNDERSTOOD,
        )

    def _list(self, name: str) -> list[Any]:
        value = self._get(name)
        if not isinstance(value, list):
            raise self.wrong(f"has no list as {name}")
        return value

    def _text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str):
            raise self.wrong(f"has no text as {name}")
        return value

    def _get(self, name: str) -> Any:
        if name not in self.data:
            raise self.wrong(f"has no {name}")
        return self.data[name]


_READERS: Mapping[str, Callable[[Fields, str], object]] = {
    "str": Fields.line,
    "int": Fields.whole,
    "bool": Fields.flag,
    "float": Fields.number,
    "tuple[str, ...]": Fields.lines,
}
"""How a field of a record is read, by its type as it is written in the class."""
