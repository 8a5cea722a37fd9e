"""The replay of a match as a site answers it: the document that docs/reference/replay-files.md describes."""

# Without postponed annotations: msgspec reads the types of the fields.

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from arena_kit.client.decoding import Line, Number, Text, Whole, decode, not_understood


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


@dataclass(frozen=True, slots=True)
class _Agent:
    """agent_id: compared as it came, and never shown."""

    agent_id: str
    name: Line


@dataclass(frozen=True, slots=True)
class _Metadata:
    number: Whole
    match_id: Line
    agents: Annotated[tuple[_Agent, ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class _Info:
    text: Text


@dataclass(frozen=True, slots=True)
class _Frame:
    frame_number: Whole
    info: _Info
    actions: dict[str, Whole | tuple[Number | None, ...]]
    opening: bool | None = None


@dataclass(frozen=True, slots=True)
class _Document:
    version: Literal["1.0"]
    metadata: _Metadata
    frames: Annotated[tuple[_Frame, ...], msgspec.Meta(min_length=1)]
    truncated: bool


def replay_of(data: Any) -> Replay:
    """Read a replay document. Raises SiteError."""
    found = decode(_Document, data, "the replay")
    metadata = found.metadata
    names = {agent.agent_id: agent.name for agent in metadata.agents}
    frames = tuple(_frame(one, names) for one in found.frames)
    return Replay(metadata.match_id, metadata.number, tuple(names.values()), frames, found.truncated, data)


def _frame(found: _Frame, names: Mapping[str, str]) -> ReplayFrame:
    if unknown := found.actions.keys() - names.keys():
        raise not_understood(f"the replay has an unknown player, {min(unknown)[:50]}")
    return ReplayFrame(
        number=found.frame_number,
        text=found.info.text,
        actions=tuple((names[key], _action(action)) for key, action in found.actions.items()),
        is_opening=bool(found.opening),
    )


def _action(action: int | tuple[float | None, ...]) -> str:
    """Return an action as text: a whole number, or the values of an array."""
    if isinstance(action, int):
        return str(action)
    return ", ".join("not finite" if one is None else f"{one:.4g}" for one in action)
