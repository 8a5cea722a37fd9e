"""Compares one value, of an answer or of a file, with what a check says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from arena_kit.rollout.checks.base import Judged, exactly_one, taken
from arena_kit.rollout.checks.evidence import readable
from arena_kit.rollout.values.equality import (
    Difference,
    are_equal,
    difference_in_any_order,
    first_difference,
    is_number,
    numbers_equal,
    plain,
    shown,
)
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.normalisation import KINDS, NotReadable, normalised
from arena_kit.rollout.values.paths import NOTHING, JsonPath, PathRefused, path_read
from arena_kit.rollout.values.patterns import PatternRefused, pattern_check, whole_matches
from arena_kit.rollout.values.reading import kind_of
from arena_kit.rollout.values.schema import first_violation, schema_flaws

WAYS = ("equals", "one_of", "set", "contains_all", "number", "matches", "schema")
LISTS = ("one_of", "set", "contains_all")
NOT_NORMALISED = ("matches", "schema")
MOST_MATCHED = 1 << 20
"""Characters of a text that a pattern is held against."""
WHOLE = JsonPath("$", ())


@dataclass(frozen=True, slots=True)
class Matcher:
    """The requirement on a value. expected: in the form of `kind`. amounts_only: whether currencies are left out."""

    path: JsonPath
    way: str
    expected: Any
    kind: str = ""
    tolerance: float = 0.0
    amounts_only: bool = False

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of value that can pass, as JSON Schema names them; empty if any can."""
        if self.path.steps:
            kind, step = self.path.steps[0]
            return frozenset({"array" if kind == "every" or isinstance(step, int) else "object"})
        if self.way == "schema":
            named = self.expected.get("type", ()) if isinstance(self.expected, dict) else ()
            names = [named] if isinstance(named, str) else list(named)
            return frozenset("number" if name == "integer" else name for name in names)
        if self.kind or self.way == "matches":
            return frozenset({"string"} if self.kind != "list" else {"string", "array"})
        if self.way in ("set", "contains_all"):
            return frozenset({"array"} if self.way == "set" else {"array", "string"})
        return frozenset(kind_of(one) for one in (self.expected if self.way == "one_of" else [self.expected]))

    def judge(self, value: Any) -> Judged:
        """Judge what the path of a value leads to."""
        found = NOTHING if value is NOTHING else self.path.find(value)
        wanted = self._wanted()
        if found is NOTHING:
            return Judged(False, f"{self.path.text} leads to nothing.", wanted, "nothing")
        try:
            read = self._read(found)
        except NotReadable as error:
            return Judged(False, f"{self.path.text}: {error}.", wanted, readable(found))
        sentence = _WAYS[self.way](self, read)
        return Judged(not sentence, sentence, wanted, readable(found), readable(read) if self.kind else "")

    def _wanted(self) -> str:
        words = {
            "one_of": "one of ",
            "set": "in any order ",
            "contains_all": "with all of ",
            "matches": "a text like ",
            "schema": "a value of the schema ",
        }
        near = f" within {self.tolerance:g}" if self.tolerance else ""
        return f"{words.get(self.way, '')}{readable(self.expected)}{near}"

    def _read(self, value: Any) -> Any:
        if not self.kind:
            return value
        read = normalised(value, self.kind)
        return amounts(read) if self.amounts_only else read


def matcher_read(fields: Fields) -> Matcher | None:
    """Return the matcher of a check's keys; what is wrong with them is added to the flaws."""
    path, kind = _path(fields), fields.choice("as", KINDS)
    way = exactly_one(fields, WAYS)
    tolerance = fields.number("tolerance", default=0.0, least=0.0, most=1e12)
    if way is None:
        return None
    if "tolerance" in fields and way != "number":
        fields.flaw("bad_check", "tolerance", "A tolerance goes with the key number only.")
    if kind and way in NOT_NORMALISED:
        fields.flaw("bad_check", "as", f"The key {way} takes the value as it is; leave `as` out.")
    expected = _expected(fields, way)
    if path is None or (expected is None and way != "equals"):
        return None
    found = Matcher(path, way, expected, "" if way in NOT_NORMALISED else kind, tolerance)
    return _normalised(found, fields) if found.kind and way != "number" else _of_number(found, fields)


def amounts(value: Any) -> Any:
    """Return amounts without their currencies, also within lists of them."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [amounts(each) for each in value]
    return value[0] if isinstance(value, list) and value else value


def _path(fields: Fields) -> JsonPath | None:
    if "path" not in fields:
        fields.take("path")
        return WHOLE
    try:
        return path_read(fields.text("path"))
    except PathRefused as refusal:
        fields.flaw(refusal.code, "path", str(refusal))
        return None


def _expected(fields: Fields, way: str) -> Any:
    if way == "equals":
        return fields.take(way)
    if way in LISTS:
        return taken(fields, way, list, "a list")
    if way == "number":
        return taken(fields, way, (int, float), "a number")  # type: ignore[arg-type]  # a tuple of types is one, too
    if way == "matches":
        return _pattern(fields, way)
    schema, count = fields.take(way), len(fields.flaws)
    fields.flaws.extend(schema_flaws(schema, f"{fields.path}.{way}"))
    return schema if len(fields.flaws) == count else None


def _pattern(fields: Fields, name: str) -> str | None:
    pattern = fields.text(name)
    try:
        pattern_check(pattern)
    except PatternRefused as refusal:
        fields.flaw(refusal.code, name, str(refusal))
        return None
    return pattern or None


def pattern_read(fields: Fields, name: str) -> str | None:
    """Return a pattern, or None with a flaw."""
    return _pattern(fields, name)


def _normalised(found: Matcher, fields: Fields) -> Matcher | None:
    """Return the matcher with what is expected in the form of its kind."""
    try:
        expected = [normalised(each, found.kind) for each in found.expected] if found.way in LISTS else None
        if (found.kind == "list" and found.way in ("set", "contains_all")) or expected is None:
            expected = normalised(found.expected, found.kind)
    except NotReadable as error:
        fields.flaw("bad_value", found.way, f"It cannot be read as {found.kind}: {error}.")
        return None
    if found.kind != "currency":
        return replace(found, expected=expected)
    named = [each for each in _pairs(expected) if each[1]]
    if len(named) == len(_pairs(expected)):
        return replace(found, expected=expected)
    return replace(found, expected=amounts(expected), amounts_only=True)


def _pairs(value: Any) -> list[list[Any]]:
    """Return the [amount, currency] in a value that was read as currency."""
    if value and isinstance(value[0], list):
        return [pair for each in value for pair in _pairs(each)]
    return [value] if value else []


def _of_number(found: Matcher, fields: Fields) -> Matcher | None:
    if found.way != "number":
        return found
    if isinstance(found.expected, bool) or found.kind not in ("", "number", "currency"):
        fields.flaw("bad_check", "number", "It must be a number, with `as` number or currency, or without `as`.")
        return None
    return replace(found, amounts_only=found.kind == "currency")


def _said(difference: Difference | None) -> str:
    return "" if difference is None else f"{difference.sentence}."


def _equals(matcher: Matcher, value: Any) -> str:
    return _said(first_difference(matcher.expected, value, matcher.path.text))


def _one_of(matcher: Matcher, value: Any) -> str:
    if any(are_equal(each, value) for each in matcher.expected):
        return ""
    return f"{matcher.path.text}: {readable(value)} is not among the {len(matcher.expected)} accepted values."


def _set(matcher: Matcher, value: Any) -> str:
    if not isinstance(value, list):
        return f"{matcher.path.text}: {readable(value)} is not a list."
    return _said(difference_in_any_order(matcher.expected, value, matcher.path.text))


def _contains_all(matcher: Matcher, value: Any) -> str:
    if isinstance(value, str):
        lost = [each for each in matcher.expected if not isinstance(each, str) or plain(each) not in plain(value)]
    elif isinstance(value, list):
        lost = [each for each in matcher.expected if not any(are_equal(each, other) for other in value)]
    else:
        return f"{matcher.path.text}: {readable(value)} is neither a list nor a text."
    return f"{matcher.path.text}: {shown(lost[0])} is not in it." if lost else ""


def _number(matcher: Matcher, value: Any) -> str:
    if is_number(value) and numbers_equal(matcher.expected, value, matcher.tolerance):
        return ""
    return f"{matcher.path.text}: {readable(value)} is not {matcher._wanted()}."


def _matches(matcher: Matcher, value: Any) -> str:
    text = shown(value) if is_number(value) else value
    if isinstance(text, str) and len(text) <= MOST_MATCHED and whole_matches(matcher.expected, plain(text)):
        return ""
    return f"{matcher.path.text}: {readable(value)} does not match the pattern."


def _schema(matcher: Matcher, value: Any) -> str:
    return first_violation(matcher.expected, value, matcher.path.text)


_WAYS: dict[str, Callable[[Matcher, Any], str]] = {
    "equals": _equals, "one_of": _one_of, "set": _set, "contains_all": _contains_all, "number": _number,
    "matches": _matches, "schema": _schema,
}  # fmt: skip
