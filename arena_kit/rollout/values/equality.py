"""The rule of equality of answers and exported values, and the first difference as a sentence.

Objects have the same keys and lists the same order. Numbers are equal within 1e-9, absolute or relative, and integers
compare with reals. Booleans never equal numbers, NaN equals nothing, null only null. Texts are equal after NFC, without
white space at their ends, with plain quotes and spaces for typographic ones, otherwise exactly.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arena_kit.rollout.values.strict_json import below
from arena_kit.text import plain_line

NEARNESS = 1e-9
MOST_UNPAIRED = 300
"""Lists in any order are compared exactly up to this many elements that have no identical one in the other list."""
SHOWN_CHARACTERS = 200
_FOLDS = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u00a0\u202f\u2007\u2009\u200a\u2002\u2003", " "),
        **dict.fromkeys("\u200b\u2060\ufeff", ""),
        "\u2011": "-",
    }
)
"""Quotes and spaces as word processors and models write them, and the plain ones."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two values differ. expected, actual: texts for people."""

    path: str
    expected: str
    actual: str

    @property
    def sentence(self) -> str:
        """E.g. `$.ratings[1]: 5 is not 4.6`, what was found first."""
        return f"{self.path}: {self.actual} is not {self.expected}"


def shown(value: Any) -> str:
    """Return a value as a short line of JSON that harms no terminal."""
    text = value if isinstance(value, float) and not math.isfinite(value) else json.dumps(value, ensure_ascii=False)
    line = plain_line(str(text)[: 4 * SHOWN_CHARACTERS])
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"


def plain(text: str) -> str:
    """Return a text as it is compared: NFC, without white space at its ends."""
    return unicodedata.normalize("NFC", text).strip()


def folded(text: str) -> str:
    """Return a text with plain quotes for typographic ones, and with spaces and hyphens for those that do not break."""
    return plain(text).translate(_FOLDS)


def are_equal(expected: Any, actual: Any) -> bool:
    """Return whether two values are equal under the rule."""
    return first_difference(expected, actual) is None


def numbers_equal(expected: float, actual: float, tolerance: float = 0.0) -> bool:
    """Return whether two numbers are equal within the rule's nearness or the tolerance, whichever is larger."""
    if expected == actual:
        return True
    return bool(abs(expected - actual) <= max(tolerance, NEARNESS, NEARNESS * abs(expected)))


def is_number(value: Any) -> bool:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def first_difference(expected: Any, actual: Any, path: str = "$") -> Difference | None:
    """Return the first difference in the order of the expected value, or None if the two are equal."""
    if is_number(expected) and is_number(actual):
        return None if numbers_equal(expected, actual) else _difference(path, expected, actual)
    if isinstance(expected, str) and isinstance(actual, str):
        return None if folded(expected) == folded(actual) else _difference(path, expected, actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _of_objects(expected, actual, path)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return _of_lists(expected, actual, path)
    if isinstance(expected, bool | None) and expected is actual:
        return None
    if isinstance(expected, bytes) and isinstance(actual, bytes) and expected == actual:
        return None
    return _difference(path, expected, actual)


def difference_in_any_order(expected: Sequence[Any], actual: Sequence[Any], path: str = "$") -> Difference | None:
    """Return a difference unless every element has one of its own in the other list that is equal to it."""
    if len(expected) != len(actual):
        return Difference(path, _elements(len(expected)), _elements(len(actual)))
    mine, others = _unpaired(expected, actual), _unpaired(actual, expected)
    if len(mine) > MOST_UNPAIRED:
        return Difference(path, f"{shown(mine[0])} and {len(mine) - 1} more", shown(others[0]))
    alone = _without_partner(mine, others)
    if alone is None:
        return None
    return Difference(path, f"a list with {shown(mine[alone])}", shown(actual))


def _of_objects(expected: dict[str, Any], actual: dict[str, Any], path: str) -> Difference | None:
    for name, value in expected.items():
        if name not in actual:
            return Difference(below(path, name), shown(value), "nothing")
        if found := first_difference(value, actual[name], below(path, name)):
            return found
    further = next((name for name in actual if name not in expected), None)
    return None if further is None else Difference(below(path, further), "nothing", shown(actual[further]))


def _of_lists(expected: Sequence[Any], actual: Sequence[Any], path: str) -> Difference | None:
    for place, (one, other) in enumerate(zip(expected, actual, strict=False)):
        if found := first_difference(one, other, below(path, place)):
            return found
    if len(expected) != len(actual):
        return Difference(path, _elements(len(expected)), _elements(len(actual)))
    return None


def _elements(count: int) -> str:
    return "a list of 1 element" if count == 1 else f"a list of {count} elements"


def _difference(path: str, expected: Any, actual: Any) -> Difference:
    return Difference(path, _readable(expected), _readable(actual))


def _readable(value: Any) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else shown(value)


def _unpaired(values: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the values that have no identical partner among the others, in order."""
    left = Counter(map(repr, others))
    kept = []
    for value in values:
        left[repr(value)] -= 1
        if left[repr(value)] < 0:
            kept.append(value)
    return kept


def _without_partner(expected: Sequence[Any], actual: Sequence[Any]) -> int | None:
    """Return the place of an expected value that is left without a partner, or None (augmenting paths, Kuhn 1955)."""
    choices = [[n for n, other in enumerate(actual) if are_equal(value, other)] for value in expected]
    partner: dict[int, int] = {}

    def find(place: int, tried: set[int]) -> bool:
        for number in choices[place]:
            if number not in tried:
                tried.add(number)
                if number not in partner or find(partner[number], tried):
                    partner[number] = place
                    return True
        return False

    return next((place for place in range(len(expected)) if not find(place, set())), None)
