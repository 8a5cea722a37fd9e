"""The answers of a site as frozen records of the shape of its JSON; `decode` checks and cleans their fields.

`answer`, where there is one, is the site's JSON as it came, for `--json`.
"""

# Without postponed annotations: msgspec reads the types of the fields.

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arena_kit.client.decoding import Line, Text, Whole

Answer = Mapping[str, Any]
OVER = frozenset({"SUCCEEDED", "FAILED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class Arena:
    """The description of a site by itself. kit_version, kit_url: of the arena-kit that it offers."""

    name: Line
    api_versions: tuple[Line, ...]
    version: Line
    kit_version: Line
    kit_url: Line
    max_upload_bytes: Whole
    answer: Answer = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made."""

    token: Line = field(repr=False)


@dataclass(frozen=True, slots=True)
class EnvironmentRow:
    """An environment. version: the id of the rules that new duels use."""

    slug: Line
    version: Line
    name: Line
    is_scored: bool
    takes_scripts: bool
    answer: Answer = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class JobPhase:
    """The latest job of one kind for a version."""

    kind: Line
    id: Whole
    state: Line
    fault: Line
    error_code: Line

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent by name."""

    id: Whole
    name: Line
    owner: Line
    environment: Line
    is_public: bool


@dataclass(frozen=True, slots=True)
class AgentName:
    """An agent as a part of another answer."""

    name: Line
    owner: Line


@dataclass(frozen=True, slots=True)
class DuelPlayer:
    """A player of a duel."""

    agent: AgentName


@dataclass(frozen=True, slots=True)
class VersionName(DuelPlayer):
    """A version by its agent and its number."""

    number: Whole

    @property
    def title(self) -> str:
        return f"{self.agent.name}, version {self.number}"


@dataclass(frozen=True, slots=True)
class Version(VersionName):
    """A version of an agent. id: the submission's. error: why its latest failed phase failed."""

    id: Line
    environment: Line
    status: Line
    phases: tuple[JobPhase, ...]
    error: Text
    warnings: tuple[Line, ...]
    notes: tuple[Line, ...] | None = None
    """The site's findings on an upload, as sentences."""
    answer: Answer = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a job waits. is_stuck: whether waiting does not help."""

    sentence: Line
    is_stuck: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A job. wait: None once it runs or is over."""

    kind: Line
    id: Whole
    state: Line
    error_code: Line
    error: Text
    wait: Wait | None = None
    answer: Answer = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A row of a leaderboard or a board. low, high: the 95% interval of `value`, if it is known."""

    rank: int | None
    agent: str
    number: int
    owner: str
    value: float
    low: float | None
    high: float | None
    note: str = ""
    """Empty, or what makes the row another kind, e.g. a score that a script reports itself."""


@dataclass(frozen=True, slots=True)
class Board:
    """The rows of a leaderboard or a board, best first. total: how many there are in all."""

    environment: str
    is_scored: bool
    total: int
    places: tuple[RankedRow, ...]
    answer: Answer = field(repr=False)


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Two versions by what both have met: the verdict in words."""

    sentence: Line
    answer: Answer = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """How many matches of a duel the challenger won, drew and lost."""

    won: Whole
    drawn: Whole
    lost: Whole


@dataclass(frozen=True, slots=True)
class ChallengeDuel:
    """A duel of a challenge."""

    duel: Whole
    opponent: VersionName
    state: Line
    result: Result

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge with its duels."""

    id: Whole
    environment: Line
    duels: tuple[ChallengeDuel, ...]
    answer: Answer = field(default_factory=dict, repr=False)

    @property
    def is_over(self) -> bool:
        return all(duel.is_over for duel in self.duels)


@dataclass(frozen=True, slots=True)
class DuelRow:
    """A duel. environment_version: the rules that it was played by."""

    id: Whole
    environment: Line
    environment_version: Line
    player_1: DuelPlayer
    player_2: DuelPlayer
    match_count: Whole
    answer: Answer = field(default_factory=dict, repr=False)

    @property
    def players(self) -> tuple[AgentName, AgentName]:
        return self.player_1.agent, self.player_2.agent
