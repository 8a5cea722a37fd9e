"""What a site answers, as frozen records with checked and cleaned fields.

`answer`, where there is one, is the site's JSON as it came, for `--json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arena_kit.client.fields import Fields
from arena_kit.environment.records import Fault, MatchRecord, Outcome

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
class ChallengeDuel:
    """A duel of a challenge; figures as the challenger sees them."""

    duel: int
    opponent: str
    state: str
    won: int
    drawn: int
    lost: int


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge with its duels."""

    id: int
    environment: str
    duels: tuple[ChallengeDuel, ...]
    answer: Answer = field(repr=False)

    @property
    def is_over(self) -> bool:
        return all(duel.state in OVER for duel in self.duels)


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


def arena_of(data: object) -> Arena:
    return Fields(data, "the site's description").read(Arena)


def token_of(data: object) -> NewToken:
    found = Fields(data, "the token")
    return found.read(NewToken, expires_at=found.line("expires_at") if found.has("expires_at") else "")


def environment_of(data: object) -> Environment:
    return Fields(data, "the environment").read(Environment)


def agent_of(found: Fields) -> AgentLine:
    return found.read(AgentLine)


def version_of(data: object) -> Version:
    found = Fields(data, "the version")
    agent = found.part("agent")
    return found.read(
        Version,
        agent_id=agent.whole("id"),
        agent=agent.line("name"),
        owner=agent.line("owner"),
        phases=tuple(one.read(Phase) for one in found.parts("phases")),
        error=found.text("error"),
    )


def job_of(data: object) -> Job:
    found = Fields(data, "the job")
    wait = found.part("wait") if found.has("wait") else None
    return found.read(
        Job,
        error=found.text("error"),
        wait=wait.line("sentence") if wait else "",
        is_stuck=wait.flag("is_stuck") if wait else False,
    )


def leaderboard_of(data: object, environment: str) -> Board:
    """Read a leaderboard by ratings."""
    found = Fields(data, "the leaderboard")
    places = []
    for row in found.parts("results"):
        version = row.part("submission")
        agent = version.part("agent")
        places.append(_place(row, agent.line("name"), version.whole("number"), agent.line("owner"), "value"))
    return Board(environment, False, found.whole("count"), tuple(places), found.data)


def scores_of(data: object, environment: str) -> Board:
    """Read a board by scores."""
    found = Fields(data, "the board")
    places = []
    for row in found.parts("results"):
        owner = row.line("user_label") or row.line("owner")
        note = "" if row.flag("is_verified") else "self-reported"
        places.append(_place(row, row.line("agent"), row.whole("number"), owner, "score", note))
    return Board(environment, True, found.whole("count"), tuple(places), found.data)


def _place(row: Fields, agent: str, number: int, owner: str, value: str, note: str = "") -> Place:
    low, high = ("low", "high") if value == "value" else ("score_low", "score_high")
    return Place(
        rank=row.whole("rank") if row.has("rank") else None,
        agent=agent,
        number=number,
        owner=owner,
        value=row.number(value),
        low=row.number(low) if row.has(low) else None,
        high=row.number(high) if row.has(high) else None,
        note=note,
    )


def challenge_of(data: object) -> Challenge:
    found = Fields(data, "the challenge")
    return found.read(Challenge, duels=tuple(_challenge_duel(line) for line in found.parts("duels")))


def _challenge_duel(line: Fields) -> ChallengeDuel:
    opponent, result = line.part("opponent"), line.part("result")
    return line.read(
        ChallengeDuel,
        opponent=f"{opponent.part('agent').line('name')}, version {opponent.whole('number')}",
        **{name: result.whole(name) for name in ("won", "drawn", "lost")},
    )


def duel_of(data: object) -> DuelLine:
    found = Fields(data, "the duel")
    one, two = (found.part(name).part("agent") for name in ("player_1", "player_2"))
    return found.read(
        DuelLine,
        rules=found.line("environment_version"),
        players=(one.line("name"), two.line("name")),
        owners=(one.line("owner"), two.line("owner")),
    )


def match_of(data: object) -> MatchRecord:
    """Read the record of a match; players are counted from 1 in the answer and from 0 in the record."""
    found = Fields(data, "the match")
    faulty = found.whole("faulty_player") - 1 if found.has("faulty_player") else None
    try:
        outcome, fault = Outcome(found.line("outcome")), Fault(found.line("fault"))
    except ValueError:
        outcome, fault = Outcome.NONE, Fault.NONE
    return MatchRecord(
        number=found.whole("number"),
        seed=found.whole("seed"),
        seats=tuple(player - 1 for player in found.wholes("seats")),
        actions=found.wholes("actions"),
        outcome=outcome,
        scores=found.numbers("scores"),
        fault=fault,
        faulty_player=faulty,
        error_code=found.line("error_code"),
        error=found.text("error"),
        # Sites from before there were openings do not say it.
        opening_count=found.whole("opening_count") if found.has("opening_count") else 0,
    )
