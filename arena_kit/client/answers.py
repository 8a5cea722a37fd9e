"""What a site answers, as frozen records with checked and cleaned fields.

`answer`, where there is one, is the site's JSON as it came, for `--json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = Mapping[str, Any]
OVER = frozenset({"SUCCEEDED", "FAILED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class Arena:
    """What a site says about itself. kit_version: of the arena-kit that it offers."""

    name: str
    api_versions: tuple[str, ...]
    version: str
    kit_version: str
    max_upload_bytes: int
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made."""

    token: str = field(repr=False)
    hint: str
    expires_at: str
    """Empty: never."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment. version: the id of the rules that new duels use."""

    slug: str
    version: str
    name: str
    is_scored: bool
    takes_scripts: bool
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class Phase:
    """The latest job of one kind for a version."""

    kind: str
    id: int
    state: str
    fault: str
    error_code: str

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent by name."""

    id: int
    name: str
    owner: str
    environment: str
    is_public: bool


@dataclass(frozen=True, slots=True)
class Version:
    """A version of an agent. id: the submission's. error: why its latest failed phase failed."""

    id: str
    number: int
    agent_id: int
    agent: str
    owner: str
    environment: str
    status: str
    phases: tuple[Phase, ...]
    error: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    """What the site says about an upload, in sentences; empty if it was not asked to take one."""
    answer: Answer = field(repr=False)

    @property
    def title(self) -> str:
        return f"{self.agent}, version {self.number}"


@dataclass(frozen=True, slots=True)
class Job:
    """A job. wait: why it waits, as a sentence; empty once it runs or is over."""

    kind: str
    id: int
    state: str
    error_code: str
    error: str
    wait: str
    is_stuck: bool
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a leaderboard or a board. low, high: the 95% interval of `value`, if it is known."""

    rank: int | None
    agent: str
    number: int
    owner: str
    value: float
    low: float | None
    high: float | None
    note: str
    """Empty, or what makes the row another kind, e.g. a score that a script reports itself."""


@dataclass(frozen=True, slots=True)
class Board:
    """The rows of a leaderboard or a board, best first. total: how many there are in all."""

    environment: str
    is_scored: bool
    total: int
    places: tuple[Place, ...]
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions by what both have met. sentences: the verdict, then what else is known, in words."""

    sentences: tuple[str, ...]
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChallengeDuel:
    """A duel of a challenge; figures as the challenger sees them."""

    duel: int
    opponent: str
    state: str
    won: int
    drawn: int
    lost: int

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge with its duels."""

    id: int
    environment: str
    duels: tuple[ChallengeDuel, ...]
    answer: Answer = field(repr=False)

    @property
    def is_over(self) -> bool:
        return all(duel.is_over for duel in self.duels)


@dataclass(frozen=True, slots=True)
class DuelLine:
    """A duel. players, owners: of player 1 and player 2."""

    id: int
    environment: str
    rules: str
    """The version of the rules that it was played by."""
    players: tuple[str, str]
    owners: tuple[str, str]
    match_count: int
    answer: Answer = field(repr=False)
