"""Reads the YAML files of a package as plain JSON values; what is wrong is said with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import WHOLE_NUMBERS, Flaw, below, flaws
from arena_kit.upload.requirements import RequirementsRefused, read_yaml

_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)\s?([kmgKMG]?)(?:i?[bB])?\Z")
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30}
_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s|m)?\Z")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}


def document_read(text: str, name: str, found: list[Flaw]) -> Fields | None:
    """Return the object in a YAML file, or None; what is wrong with it is added. Anchors and tags are refused."""
    try:
        value = read_yaml(text, name)
    except RequirementsRefused as refusal:
        found.append(Flaw("bad_yaml", name, str(refusal)))
        return None
    if not isinstance(value, dict):
        found.append(Flaw("bad_yaml", name, "The file holds keys with values, such as `name: Shop`."))
        return None
    problems = [*_repeated(yaml.compose(text, yaml.SafeLoader), name), *_not_plain(value, name)]
    problems = problems or list(flaws(value, name))
    found.extend(problems)
    return None if problems else Fields(value, name, found)


def words(fields: Fields, name: str, *, most: int = 100) -> tuple[str, ...] | None:
    """Return a list of texts, in which numbers are texts, too; None without the key or with a flaw."""
    value = fields.take(name)
    if value is NOTHING:
        return None
    good = isinstance(value, list) and 1 <= len(value) <= most
    if good and all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in value):
        return tuple(str(each) for each in value)
    fields.flaw("bad_value", name, f"It must be a list of 1 to {most} texts; a command is never given to a shell.")
    return None


def size(fields: Fields, name: str, *, default: int, most: int, least: int = 1) -> int:
    """Return a number of bytes, of a whole number or a text such as 512m or 2GiB."""
    value = fields.take(name)
    if value is NOTHING:
        return default
    match = None if isinstance(value, bool) else _SIZE.match(str(value))
    count = int(float(match[1]) * (1 << _POWERS[match[2].lower()])) if match else 0
    if least <= count <= most:
        return count
    fields.flaw("bad_value", name, f"It must be a size such as 512m, from {least >> 20}m to {most >> 20}m.")
    return default


def seconds(fields: Fields, name: str, *, default: float, most: float) -> float:
    """Return seconds, of a number or a text such as 500ms, 5s or 1m."""
    value = fields.take(name)
    if value is NOTHING:
        return default
    match = None if isinstance(value, bool) else _DURATION.match(str(value))
    found = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if 0 < found <= most:
        return found
    fields.flaw("bad_value", name, f"It must be a duration such as 5s, at most {most:g}s.")
    return default


def _repeated(node: yaml.Node | None, path: str) -> Iterator[Flaw]:
    """Yield the keys that stand twice, of which YAML would take the last."""
    if isinstance(node, yaml.SequenceNode):
        for place, each in enumerate(node.value):
            yield from _repeated(each, below(path, place))
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield Flaw("repeated_key", below(path, name), "This key appears twice; keep one of them.")
            seen.add(name)
            yield from _repeated(value, below(path, name))


def _not_plain(value: Any, path: str) -> Iterator[Flaw]:
    """Yield what YAML knows and JSON does not: dates, keys that are not texts, and numbers of any length."""
    if isinstance(value, dict):
        for name, each in value.items():
            if not isinstance(name, str):
                shown = "" if isinstance(name, int) and name not in WHOLE_NUMBERS else f" {name!s:.40}"
                yield Flaw("bad_yaml", path, f"The key{shown} is not text in YAML; put it in quotation marks.")
            else:
                yield from _not_plain(each, below(path, name))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _not_plain(each, below(path, place))
    elif not isinstance(value, str | int | float | bool | None):
        yield Flaw("bad_yaml", path, "YAML takes this for a date or for bytes; put it in quotation marks.")
    elif isinstance(value, int) and value not in WHOLE_NUMBERS:
        yield Flaw("bad_number", path, "The number is too large; databases hold no such one.")
