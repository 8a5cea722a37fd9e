"""The part of JSONPath that checks use: `$`, `.name`, `['any name']`, `[0]`, `[-1]` and `[*]`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from arena_kit.errors import Refused

MOST_CHARACTERS = 300
EVERY = "*"
_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)
      | \[(?P<place>-?(?:0|[1-9][0-9]{0,5}))\]
      | \[(?P<every>\*)\]
      | \['(?P<single>[^'\\]*)'\]
      | \[(?P<double>"(?:[^"\\]|\\.)*")\]""",
    re.VERBOSE,
)


class PathRefused(Refused):
    """A path that is not understood."""


class Nothing:
    """The end of a path that leads nowhere."""


NOTHING = Nothing()


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was read. steps: names, places and `EVERY`."""

    text: str
    steps: tuple[tuple[str, str | int], ...]

    def find(self, value: Any) -> Any:
        """Return what the path leads to, a list after `[*]`, or NOTHING."""
        found, many = [value], False
        for kind, step in self.steps:
            if kind == "every":
                if not all(isinstance(each, list) for each in found):
                    return NOTHING
                many, found = True, [item for each in found for item in each]
            else:
                found = [_member(each, step) for each in found]
            if any(each is NOTHING for each in found):
                return NOTHING
        return found if many else found[0]


def path_read(text: str) -> JsonPath:
    """Return the path of a text such as `$.rows[0].name`. Raises PathRefused."""
    if not text.startswith("$") or len(text) > MOST_CHARACTERS:
        sentence = f"A path begins with $ and has at most {MOST_CHARACTERS} characters, e.g. $.rows[0].name."
        raise PathRefused(sentence, code="bad_path")
    steps: list[tuple[str, str | int]] = []
    position = 1
    while position < len(text):
        match = _STEP.match(text, position)
        step = None if match is None else _step(match)
        if match is None or step is None:
            left = text[position : position + 30]
            sentence = f"The path is not understood from {left!r} on; it may hold .name, ['name'], [0], [-1] and [*]."
            raise PathRefused(sentence, code="bad_path")
        steps.append(step)
        position = match.end()
    return JsonPath(text, tuple(steps))


def _step(match: re.Match[str]) -> tuple[str, str | int] | None:
    if match["place"] is not None:
        return "place", int(match["place"])
    if match["every"] is not None:
        return "every", EVERY
    if match["double"] is not None:
        try:
            return "name", str(json.loads(match["double"]))
        except ValueError:
            return None
    return "name", match["name"] if match["name"] is not None else match["single"]


def _member(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and -len(value) <= step < len(value) else NOTHING
    return value[step] if isinstance(value, dict) and step in value else NOTHING
