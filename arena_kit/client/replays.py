"""What a site answers as the replay of a match: the document that docs/reference/replay-files.md describes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arena_kit.client.fields import Fields
from arena_kit.text import plain_line

VERSIONS = frozenset({"1.0"})


@dataclass(frozen=True, slots=True)
class ReplayFrame:
    """One state. actions: (name of the player, action) pairs that led to it. is_opening: the referee played them."""

    number: int
    text: str
    actions: tuple[tuple[str, str], ...]
    is_opening: bool


@dataclass(frozen=True, slots=True)
class Replay:
    """The states of a match.

    match_id: its name for programs. names: of player 1 and player 2. is_truncated: whether states are missing
    at the end.
    """

    match_id: str
    number: int
    names: tuple[str, ...]
    frames: tuple[ReplayFrame, ...]
    is_truncated: bool
    answer: Mapping[str, Any] = field(repr=False)


def replay_of(data: object) -> Replay:
    """Read a replay document. Raises SiteError."""
    found = Fields(data, "the replay")
    if found.line("version") not in VERSIONS:
        raise found.wrong("has another version of its form")
    metadata = found.part("metadata")
    # The keys are compared as they came, and only shown cleaned.
    names = {agent.raw_text("agent_id"): agent.line("name") for agent in metadata.parts("agents")}
    if not names:
        raise metadata.wrong("has no agents")
    frames = tuple(_frame(one, names) for one in found.parts("frames"))
    if not frames:
        raise found.wrong("has no states")
    number, match_id = metadata.whole("number"), metadata.line("match_id")
    return Replay(match_id, number, tuple(names.values()), frames, found.flag("truncated"), found.data)


def _frame(found: Fields, names: Mapping[str, str]) -> ReplayFrame:
    actions = found.part("actions")
    unknown = actions.data.keys() - names.keys()
    if unknown:
        raise actions.wrong(f"has an unknown player, {plain_line(min(unknown))[:50]}")
    return ReplayFrame(
        number=found.whole("frame_number"),
        text=found.part("info").text("text"),
        actions=tuple((names[key], _action(actions, key)) for key in actions.data),
        is_opening=found.has("opening") and found.flag("opening"),
    )


def _action(actions: Fields, key: str) -> str:
    """Return an action as text: a whole number, or the values of an array."""
    value = actions.data[key]
    if not isinstance(value, list):
        return str(actions.whole(key))
    if not all(one is None or (type(one) in (int, float) and math.isfinite(one)) for one in value):
        raise actions.wrong("has something else than numbers in an action")
    return ", ".join("not finite" if one is None else f"{one:.4g}" for one in value)
