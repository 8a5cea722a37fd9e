"""Takes the members of a JSON object one by one, and collects in sentences what is wrong with them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from arena_kit.rollout.values.equality import is_number, shown
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import Flaw, below

MOST_TEXT = 1_000


class Fields:
    """An object that is being read. flaws: what is wrong, with that of other objects of the same document."""

    def __init__(self, value: Mapping[str, Any], path: str, flaws: list[Flaw]) -> None:
        """Begin to read an object that stands at a path."""
        self.value, self.path, self.flaws = value, path, flaws
        self._known: list[str] = []

    def flaw(self, code: str, name: str, message: str) -> None:
        """Add what is wrong with a member, or with the object itself if the name is empty."""
        self.flaws.append(Flaw(code, below(self.path, name) if name else self.path, message))

    def __contains__(self, name: str) -> bool:
        return name in self.value

    def take(self, *names: str) -> Any:
        """Return the member with the first of these names that is there, or NOTHING; the names mean the same."""
        self._known += names
        present = [name for name in names if name in self.value]
        if len(present) > 1:
            self.flaw("same_key", present[1], f"It means the same as {present[0]}; keep one of them.")
        return self.value[present[0]] if present else NOTHING

    def text(self, *names: str, default: str = "", most: int = MOST_TEXT, is_needed: bool = False) -> str:
        """Return a text of 1 to `most` characters, or the default."""
        value = self.take(*names)
        if value is NOTHING and not is_needed:
            return default
        if value is NOTHING:
            self.flaw("missing_key", "", f"The key {names[0]} is missing.")
        elif not isinstance(value, str) or not value.strip() or len(value) > most:
            self.flaw("bad_value", self._present(names), f"It must be a text of 1 to {most:,} characters.")
        else:
            return value
        return default

    def number(self, name: str, *, default: float, least: float, most: float, above: bool = False) -> float:
        """Return a number in a range, or the default. above: whether the least number is itself too small."""
        value = self.take(name)
        if value is NOTHING:
            return default
        if is_number(value) and math.isfinite(value) and least <= value <= most and not (above and value == least):
            return float(value)
        self.flaw(
            "bad_value", name, f"It must be a number {'above' if above else 'from'} {least:g} {_to(above)} {most:g}."
        )
        return default

    def whole(self, name: str, *, default: int, least: int, most: int) -> int:
        """Return a whole number in a range, or the default."""
        value = self.take(name)
        if value is NOTHING:
            return default
        if is_number(value) and least <= value <= most and value == int(value):
            return int(value)
        self.flaw("bad_value", name, f"It must be a whole number from {least:,} to {most:,}.")
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false, or the default."""
        value = self.take(name)
        if isinstance(value, bool) or value is NOTHING:
            return default if value is NOTHING else bool(value)
        self.flaw("bad_value", name, "It must be true or false.")
        return default

    def choice(self, name: str, choices: Sequence[str], *, default: str = "") -> str:
        """Return one of these texts, or the default."""
        value = self.take(name)
        if value is NOTHING or value in choices:
            return default if value is NOTHING else str(value)
        self.flaw("bad_value", name, f"{shown(value)} is not known; use {', '.join(choices)}.{_meant(value, choices)}")
        return default

    def texts(self, name: str, *, most: int = 50, most_characters: int = MOST_TEXT) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        value = self.take(name)
        if value is NOTHING:
            return ()
        found = [value] if isinstance(value, str) else value
        good = isinstance(found, list) and len(found) <= most
        if good and all(isinstance(each, str) and each and len(each) <= most_characters for each in found):
            return tuple(found)
        self.flaw(
            "bad_value", name, f"It must be a list of at most {most} texts of 1 to {most_characters:,} characters."
        )
        return ()

    def object(self, name: str) -> Mapping[str, Any] | None:
        """Return an object, or None."""
        value = self.take(name)
        if isinstance(value, dict):
            return value
        if value is not NOTHING:
            self.flaw("bad_value", name, "It must be an object in braces.")
        return None

    def objects(self, name: str, *, most: int) -> list[tuple[str, Mapping[str, Any]]]:
        """Return a list of objects with their paths."""
        value = self.take(name)
        if value is NOTHING:
            return []
        path = below(self.path, name)
        if not isinstance(value, list) or len(value) > most or not all(isinstance(each, dict) for each in value):
            self.flaw("bad_value", name, f"It must be a list of at most {most} objects in braces.")
            return []
        return [(below(path, place), each) for place, each in enumerate(value)]

    def finish(self) -> None:
        """Name the members that nothing has asked for."""
        for name in self.value:
            if name not in self._known:
                known = sorted(set(self._known))
                self.flaw("unknown_key", name, f"This key is not known here.{_meant(name, known)}")

    def _present(self, names: Sequence[str]) -> str:
        return next(name for name in names if name in self.value)


def _to(above: bool) -> str:
    return "and at most" if above else "to"


def _meant(value: Any, names: Sequence[str]) -> str:
    # The last word of a longer name says what is meant: task_id is an id, not a task.
    last = str(value)[:60].casefold().rpartition("_")[2]
    near = [last] if last in names else difflib.get_close_matches(str(value)[:60], names, n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""
