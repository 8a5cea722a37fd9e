"""The part of JSON Schema that describes answers: types, members, elements, ranges and patterns.

References, combinations and formats are left out on purpose: the rest takes time linear in the answer, and its meaning
does not change with a library's release, so a verdict can be repeated years later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from arena_kit.rollout.values.equality import are_equal, is_number, plain, shown
from arena_kit.rollout.values.patterns import PatternRefused, pattern_check, whole_matches
from arena_kit.rollout.values.strict_json import Flaw, below

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
NOTES = ("title", "description", "examples")
COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
KEYWORDS = (
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "pattern",
    *COUNTS, *BOUNDS, *NOTES,
)  # fmt: skip


def schema_flaws(schema: Any, path: str = "$") -> Iterator[Flaw]:
    """Yield what is wrong with a schema."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield Flaw("bad_schema", path, 'A schema is an object, such as {"type": "number"}.')
        return
    for name, value in schema.items():
        message = f"The keyword is not known; use {', '.join(KEYWORDS)}." if name not in KEYWORDS else ""
        if message or (message := _keyword_flaw(name, value)):
            yield Flaw("bad_schema", below(path, name), message)
    inner = schema.get("properties")
    for name, value in inner.items() if isinstance(inner, dict) else ():
        yield from schema_flaws(value, below(f"{path}.properties", name))
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from schema_flaws(schema[name], f"{path}.{name}")


def first_violation(schema: Any, value: Any, path: str = "$") -> str:
    """Return in a sentence what of a value does not follow the schema, or an empty text. The schema has no flaws."""
    if isinstance(schema, bool):
        return "" if schema else f"{path} should not be there."
    return next(_violations(schema, value, path), "")


def is_type(value: Any, name: str) -> bool:
    """Return whether a value has a type of JSON Schema; booleans are not numbers, 2.0 is an integer."""
    if name == "number":
        return is_number(value)
    if name == "integer":
        return is_number(value) and math.isfinite(value) and value == int(value)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[name])


def _keyword_flaw(name: str, value: Any) -> str:
    if name == "type":
        names = value if isinstance(value, list) else [value]
        good = bool(names) and all(isinstance(each, str) and each in TYPES for each in names)
        return "" if good else f"The type must be one of {', '.join(TYPES)}, or a list of them."
    if name == "enum":
        return "" if isinstance(value, list) and value else "It must be a list of the values that are allowed."
    if name == "required":
        good = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return "" if good else "It must be a list of names."
    if name == "properties":
        return "" if isinstance(value, dict) else "It must be an object of schemas by name."
    if name in COUNTS:
        return "" if is_type(value, "integer") and value >= 0 else "It must be a whole number from 0 on."
    if name in BOUNDS:
        return "" if is_number(value) else "It must be a number."
    return _pattern_flaw(value) if name == "pattern" else ""


def _pattern_flaw(value: Any) -> str:
    if not isinstance(value, str):
        return "It must be a text."
    try:
        pattern_check(value)
    except PatternRefused as refusal:
        return str(refusal)
    return ""


def _violations(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    names = schema.get("type", ())
    names = names if isinstance(names, list | tuple) else [names]
    if names and not any(is_type(value, name) for name in names):
        yield f"{path} should be of the type {' or '.join(names)}, but is {shown(value)}."
    if "enum" in schema and not any(are_equal(each, value) for each in schema["enum"]):
        yield f"{path} is {shown(value)}, which is not among the values that are allowed."
    if "const" in schema and not are_equal(schema["const"], value):
        yield f"{path} is {shown(value)}, not {shown(schema['const'])}."
    if is_number(value):
        yield from _of_number(schema, value, path)
    elif isinstance(value, str):
        yield from _counted(schema, "Length", "characters", len(value), path)
        if "pattern" in schema and not whole_matches(schema["pattern"], plain(value)):
            yield f"{path} does not match the pattern {shown(schema['pattern'])}."
    elif isinstance(value, list):
        yield from _counted(schema, "Items", "elements", len(value), path)
        for place, each in enumerate(value) if "items" in schema else ():
            yield from filter(None, [first_violation(schema["items"], each, below(path, place))])
    elif isinstance(value, dict):
        yield from _of_object(schema, value, path)


def _of_number(schema: Mapping[str, Any], value: float, path: str) -> Iterator[str]:
    if not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf):
        yield f"{path} is {shown(value)}, which is out of range."
    if value <= schema.get("exclusiveMinimum", -math.inf) or value >= schema.get("exclusiveMaximum", math.inf):
        yield f"{path} is {shown(value)}, which is out of range."


def _of_object(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from _counted(schema, "Properties", "members", len(value), path)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{below(path, name)} is missing."
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, each in value.items():
        yield from filter(None, [first_violation(known.get(name, others), each, below(path, name))])


def _counted(schema: Mapping[str, Any], what: str, of: str, count: int, path: str) -> Iterator[str]:
    if not schema.get(f"min{what}", 0) <= count <= schema.get(f"max{what}", math.inf):
        yield f"{path} has {count} {of}, which is too few or too many."
