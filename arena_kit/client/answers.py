"""The answers of a site as frozen records of the shape of its JSON; `decode` checks and cleans their fields.

`answer`, where there is one, is the site's JSON as it came, for `--json`.
"""

# Without postponed annotations: msgspec reads the types of the fields.

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from arena_kit.analysis.blunders import Blunder
from arena_kit.client.decoding import Line, Number, Text, Whole
from arena_kit.html import curve, lines, picture, table

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
class Place:
    """The rank of an agent now. number: of its version. size: how many have a rank; None on a board of scores."""

    rank: Whole
    number: Whole
    size: Whole | None = None
    rating: float | None = None
    score: float | None = None

    def __str__(self) -> str:
        figure = f"score {self.score:g}" if self.rating is None else f"rating {self.rating:.0f}"
        return f"{self.rank}{f' of {self.size}' if self.size else ''}, {figure}, with version {self.number}"


@dataclass(frozen=True, slots=True)
class Version(VersionName):
    """A version of an agent. id: the submission's. error: why its latest failed phase failed."""

    id: Line
    environment: Line
    status: Line
    phases: tuple[JobPhase, ...]
    error: Text
    warnings: tuple[Line, ...]
    place: Place | None = None
    """None for an agent without a rank."""
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

    @property
    def table(self) -> list[dict[str, object]]:
        """One row for each place; `pandas.DataFrame(board.table)` takes them."""
        value = "score" if self.is_scored else "rating"
        return [
            {
                "rank": place.rank,
                "agent": f"{place.agent} v{place.number}",
                "owner": place.owner,
                value: place.value,
                "low": place.low,
                "high": place.high,
                "note": place.note,
            }
            for place in self.places
        ]

    def _repr_html_(self) -> str:
        return table(self.table, f"{self.environment}: {len(self.places)} of {self.total}")


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """An agent's rating at a moment. at: ISO 8601, UTC. number: its version. low, high: the 95% interval."""

    at: Line
    number: Whole
    value: Number
    low: Number | None = None
    high: Number | None = None
    rank: Whole | None = None


@dataclass(frozen=True, slots=True)
class BlunderRow:
    """A position in which a version of an agent gave something away. found_by, missed_by: numbers of versions."""

    id: Whole
    version: Whole
    environment_version: Line
    ply: Whole
    seat: Whole
    seed: Whole
    actions: tuple[Whole, ...]
    played: Whole
    holding: tuple[Whole, ...]
    losing: tuple[Whole, ...]
    before: Number | None
    after: Number
    sentence: Line
    text: Text
    found_by: tuple[Whole, ...]
    missed_by: tuple[Whole, ...]
    steps: Whole | None = None

    @property
    def blunder(self) -> Blunder:
        """The position for `arena_kit.analysis.drill.move_at`."""
        return Blunder.of(self)


@dataclass(frozen=True, slots=True)
class BlunderList:
    """The positions of an agent, the newest first."""

    blunders: tuple[BlunderRow, ...]
    answer: Answer = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class RatingCourse:
    """An agent's ratings over time, from the oldest on."""

    points: tuple[CoursePoint, ...]
    answer: Answer = field(default_factory=dict, repr=False)

    @property
    def table(self) -> list[dict[str, object]]:
        """One row for each point; `pandas.DataFrame(history.table)` takes them."""
        return [asdict(point) for point in self.points]

    def _repr_html_(self) -> str:
        if len(self.points) < 2:
            return table(self.table)
        spans = [
            (
                point.value if point.low is None else point.low,
                point.value,
                point.value if point.high is None else point.high,
            )
            for point in self.points
        ]
        return picture(curve(spans), f"The rating goes from {spans[0][1]:.0f} to {spans[-1][1]:.0f}.", 640)


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Two versions by what both have met: the verdict in words."""

    sentence: Line
    answer: Answer = field(default_factory=dict, repr=False)

    def _repr_html_(self) -> str:
        return lines(self.sentence)


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
