"""Reads the `info.yml` of a classic folder, which an environment of the older arena comes with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MARK = "num_matches_in_duel"
"""The key by which a classic folder is recognised."""
REQUIRED = ("slug", "name", "image", "description", MARK, "memory_limit", "cpu_limit")
OPTIONAL = ("action_count", "forfeit_score", "max_steps", "version")
PASSED = ("matches_per_validation", "parallel_matches", "env_id", "action_names", "openings", "heavy")
"""Keys of other environments that mean the same here."""
MAX_STEPS = 1000
"""A match of a classic environment is ended after this many moves, unless its file has another number."""
DEFAULTS = {"version": 1, "max_steps": MAX_STEPS, "matches_per_validation": 10, "parallel_matches": 1}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


class BadKey(ValueError):
    """A key of the file is wrong or missing; the message names it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that a classic environment does not declare; its trial finds them by random play.

    shape, dtype, wire: those of its states. action_count: one more than the greatest action. score: the greatest total
    of rewards. uses_chance: whether it draws from `random` or `numpy.random`.
    """

    shape: tuple[int, ...] = (1,)
    dtype: str = "int64"
    wire: str = "int64"
    action_count: int = 1
    score: float = 1.0
    uses_chance: bool = False


@dataclass(frozen=True, slots=True)
class ClassicSource:
    """A classic environment: class `Environment` in `environment.py` of its folder.

    uses_chance: whether it draws from `random` or `numpy.random`, which are then seeded for every match. notes:
    sentences about keys that were read differently from how they are written.
    """

    uses_chance: bool = False
    notes: tuple[str, ...] = ()


def read_classic(data: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
    """Return the file as one of the arena's own would be written. Raises BadKey."""
    known = (*REQUIRED, *OPTIONAL, *PASSED)
    if unknown := [str(key) for key in data if key not in known]:
        raise BadKey(f"{unknown[0]}: there is no such key in a classic folder.")
    if missing := [key for key in REQUIRED if key not in data]:
        raise BadKey(f"{missing[0]}: this key is missing.")
    matches = _checked(data, MARK, _count)
    notes = [f"{MARK} is odd ({matches}): {matches + 1} are played, because players swap seats."] if matches % 2 else []
    names = data.get("action_names")
    return {
        **DEFAULTS,
        # Before the trial nothing else says how many actions there are.
        "action_count": len(names) if isinstance(names, list) and names else facts.action_count,
        "forfeit_score": facts.score,
        **{key: data[key] for key in ("slug", "name", "image", "description", *OPTIONAL, *PASSED) if key in data},
        "seats": 2,
        "observation": {"shape": list(facts.shape), "dtype": facts.dtype, "wire": facts.wire},
        "matches_per_duel": matches + matches % 2,
        "limits": {
            "memory_limit_bytes": _checked(data, "memory_limit", _bytes),
            "cpu_count": _checked(data, "cpu_limit", _number),
        },
        "entry_point": "arena_kit.environment.adapters.classic.environment:ClassicEnvironment",
        "renderer": "arena_kit.environment.adapters.classic.environment:frame_to_svg",
        "classic": {"uses_chance": facts.uses_chance, "notes": notes},
    }


def _checked(data: Mapping[str, Any], key: str, read: Callable[[Any], Any]) -> Any:
    try:
        return read(data[key])
    except (TypeError, ValueError, OverflowError):
        raise BadKey(f"{key}: must be {read.__doc__}, not {data[key]!r}.") from None


def _count(value: Any) -> int:
    """a whole number of at least 1"""
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _number(value: Any) -> float:
    """a number above 0"""
    if isinstance(value, bool) or not 0 < float(value) < float("inf"):
        raise ValueError
    return float(value)


def _bytes(value: Any) -> int:
    """a number of bytes, or a text such as 512m or 4g"""
    found = _SIZE.fullmatch(str(value).strip())
    if isinstance(value, bool) or found is None:
        raise ValueError
    count = int(float(found[1]) * _UNITS[found[2].lower()])
    return _count(count)
