"""Reads JSON that may be hostile, and says what in it cannot be stored, compared or shown, and where it stands."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena_kit.errors import Refused

MOST_DEPTH = 32
"""Objects and lists within each other; everything below may recurse to this depth."""
MOST_VALUES = 500_000
MOST_FLAWS = 200
"""No more flaws than this are named: a person mends the first ones and tries again."""
WHOLE_NUMBERS = range(-(2**63), 2**63)
"""Databases hold no larger whole numbers."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CANNOT_STAND = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_TURNS_TEXT = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that show a text in another order than it has, so that people and agents would read different things."""


class NotJson(Refused):
    """The bytes or the text are not JSON at all, or too much of it."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a value. path: where it stands, e.g. `$[2].checks[0].path`."""

    code: str
    path: str
    message: str


class Object(dict[str, Any]):
    """A JSON object that knows which of its keys stood in it more than once; the last value is the one it has."""

    repeated: tuple[str, ...] = ()


def read_json(data: bytes, *, most_bytes: int) -> Any:
    """Return the value in UTF-8 bytes; `flaws` says what is wrong with it. Raises NotJson."""
    if len(data) > most_bytes:
        raise NotJson(f"The file has {len(data):,} bytes; at most {most_bytes:,} are read.", code="too_large")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotJson(f"Byte {error.start:,} is not UTF-8; save the file as UTF-8.", code="not_utf8") from None
    return parse_json(text)


def parse_json(text: str) -> Any:
    """Return the value of a text of JSON; `flaws` says what is wrong with it. Raises NotJson."""
    if sum(text.count(mark) for mark in ",[{") > MOST_VALUES:
        raise NotJson(f"It holds more than {MOST_VALUES:,} values; make several files of it.", code="too_many_values")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        sentence = f"It is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        raise NotJson(sentence, code="invalid_json") from None
    except RecursionError:
        raise NotJson(f"Its values are nested more than {MOST_DEPTH} deep.", code="too_deep") from None


def decode_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that begins at a position, and the position after it.

    Raises json.JSONDecodeError and RecursionError.
    """
    return _DECODER.raw_decode(text, start)


def flaws(value: Any, path: str = "$") -> Iterator[Flaw]:
    """Yield what is wrong with a value that was read: at most MOST_FLAWS, in the order of the document."""
    found = 0
    stack: list[tuple[Any, str, int]] = [(value, path, 1)]
    while stack:
        item, here, depth = stack.pop()
        for flaw in _own_flaws(item, here, depth):
            yield flaw
            found += 1
            if found >= MOST_FLAWS:
                return
        if depth <= MOST_DEPTH:
            inside = [(each, below(here, name), depth + 1) for name, each in _inside(item)]
            stack.extend(reversed(inside))


def is_flawless(value: Any) -> bool:
    """Return whether nothing is wrong with a value that was read."""
    return next(flaws(value), None) is None


def below(path: str, name: str | int) -> str:
    """Return the path of a member, e.g. `$.rows[2]['a b']`."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if _PLAIN_KEY.match(name) else f"{path}[{json.dumps(name[:100])}]"


def canonical(value: Any) -> str:
    """Return the one text of a value: sorted keys, no spaces; whole numbers look the same as integers and as reals."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _inside(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _own_flaws(value: Any, path: str, depth: int) -> Iterator[Flaw]:
    if isinstance(value, str):
        yield from _text_flaws(value, path, "The text")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Flaw("bad_number", path, "The number is too large, infinite or NaN; JSON and databases hold no such one.")
    elif isinstance(value, dict | list) and depth > MOST_DEPTH:
        yield Flaw("too_deep", path, f"Values may be nested at most {MOST_DEPTH} deep; make the document flatter.")
    elif isinstance(value, dict):
        for name in getattr(value, "repeated", ()):
            yield Flaw("repeated_key", below(path, name), "This key appears twice; keep one of them.")
        for name in value:
            yield from _text_flaws(name, path, "A key")


def _text_flaws(text: str, path: str, what: str) -> Iterator[Flaw]:
    if bad := _CANNOT_STAND.search(text):
        where = f"U+{ord(bad[0]):04X} at position {bad.start() + 1}"
        yield Flaw("bad_character", path, f"{what} contains the control character {where}; remove it.")
    elif bad := _TURNS_TEXT.search(text):
        where = f"U+{ord(bad[0]):04X} at position {bad.start() + 1}"
        yield Flaw(
            "bad_character",
            path,
            f"{what} contains the character {where}, which reverses the direction of text; remove it.",
        )


def _object(pairs: list[tuple[str, Any]]) -> Object:
    found = Object(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        found.repeated = tuple(name for name, count in counts.items() if count > 1)
    return found


def _integer(digits: str) -> int | float:
    """Return a whole number, or infinity for one that no database holds."""
    number = int(digits) if len(digits) <= 20 else None
    return number if number is not None and number in WHOLE_NUMBERS else math.inf


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)
