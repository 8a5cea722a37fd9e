"""What every format of a tournament is: a pure function from its history to a plan.

A caller keeps rows and nothing else. Whenever something has happened it hands the whole history to the format and
brings its rows in line with the plan: it creates the duels of `play`, takes back those of `stale`, and is done when
the plan is finished. The same history gives the same plan, so a worker that dies in between and plans again does no
harm, and to void a round is to leave its duels out of the history: the plan asks for them again, and whatever was
played on the strength of them is stale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import ClassVar

from arena_kit.ranking.meetings import Decision, Source, StageKind


class Impossible(ValueError):
    """A format that cannot be played with these settings or participants; the message says what to do."""


MOST_PAIRS = 1_000
"""Of one duel: more would take hours, in which nobody else plays on that core."""
MOST_EXTENSIONS = 50
MOST_PARTICIPANTS = 500
"""Of one tournament. A Swiss round of so many takes seconds to pair."""
MOST_MEETINGS = 5_000
"""Of one tournament, e.g. a round robin of 100: all of them are planned at once and written down with every result."""


class DuelState(StrEnum):
    OPEN = "open"
    PLAYED = "played"
    VOID = "void"
    """The arena could not play it to its end, for good: nobody's fault among the players."""


@dataclass(frozen=True, slots=True)
class DuelRecord:
    """A duel that counts: neither struck nor cancelled.

    key: by which the caller knows it, e.g. the id of its row. players: player_1 and player_2. points: 2 for a
    match won or forfeited by the other, 1 for a draw. scores: sums over the matches; they decide between equal points,
    as everywhere.
    """

    key: int
    round: int
    players: tuple[int, int]
    state: DuelState = DuelState.OPEN
    points: tuple[int, int] = (0, 0)
    scores: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class History:
    """All that a plan depends on, besides the settings.

    participants: in seed order, best first. duels: in the order in which they were created; who strikes one strikes the
    later ones of the same meeting, too, for they were asked for on the strength of it. left: who withdrew or was
    disabled, in the order in which they left, with the last round of which there were duels that counted, 0 for none.
    Who strikes duels of round k and later lowers what is greater than k - 1 to that, and nothing else, so that nobody
    who is gone is paired again; who leaves when the plan is finished is not written down. seed: of the tournament; the
    duels' seeds follow from it.
    """

    participants: tuple[int, ...]
    duels: tuple[DuelRecord, ...] = ()
    left: Mapping[int, int] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        known = set(self.participants)
        if len(known) < len(self.participants):
            raise ValueError("A participant is there twice.")
        if not known.issuperset(self.left) or not all(known.issuperset(duel.players) for duel in self.duels):
            raise ValueError("The history names somebody who does not take part.")
        if len({duel.key for duel in self.duels}) < len(self.duels):
            raise ValueError("A duel is there twice.")

    @property
    def gone(self) -> tuple[int, ...]:
        """Who has left, the first one first; within a round in the order of `left`."""
        return tuple(sorted(self.left, key=lambda who: self.left[who]))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two participants in a round, with all duels between them there, or one who rests.

    key: its name within the tournament. number: its place in the round, from 1, top to bottom in a drawing. players:
    player_1 and player_2; None stands for somebody who is not known yet, or for nobody in a bye. duels: those that
    count. decision: None while it is open. winner: None of a draw, and of what counts for nobody.
    """

    key: str
    round: int
    number: int
    players: tuple[int | None, int | None]
    sources: tuple[Source | None, Source | None] = (None, None)
    duels: tuple[DuelRecord, ...] = ()
    decision: Decision | None = None
    winner: int | None = None

    @property
    def loser(self) -> int | None:
        """The other one, where there is a winner and another."""
        if self.winner is None:
            return None
        return self.players[1] if self.winner == self.players[0] else self.players[0]

    @property
    def points(self) -> tuple[int, int]:
        """Match points of the two sides over all duels played."""
        return self._sums()[0]

    @property
    def scores(self) -> tuple[float, float]:
        """Scores of the two sides over all duels played."""
        return self._sums()[1]

    @property
    def scores_per_match(self) -> tuple[float, float]:
        """Scores of the two sides per match played, which compare between meetings of different lengths."""
        points, scores = self._sums()
        # Every match brings 2 points: to one side, or 1 to each.
        matches = max(1, sum(points) / 2)
        return scores[0] / matches, scores[1] / matches

    @property
    def ahead(self) -> int | None:
        """Who is ahead by points, then by scores; None when they are level."""
        (one, other), scores = self._sums()
        # Without the traces of the order in which scores were added up, as in the standings.
        first, second = (one, round(scores[0], 9)), (other, round(scores[1], 9))
        if first == second:
            return None
        return self.players[0] if first > second else self.players[1]

    def count(self, state: DuelState) -> int:
        return sum(duel.state == state for duel in self.duels)

    def _sums(self) -> tuple[tuple[int, int], tuple[float, float]]:
        points, scores = [0, 0], [0.0, 0.0]
        for duel in self.duels:
            if duel.state == DuelState.PLAYED:
                for side in (0, 1):
                    own = side if duel.players[0] == self.players[0] else 1 - side
                    points[side] += duel.points[own]
                    scores[side] += duel.scores[own]
        return (points[0], points[1]), (scores[0], scores[1])


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table. values: in the order of its columns. notes: sentences for the page."""

    participant: int
    rank: int
    values: tuple[float, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows from the best to the worst; ties share ranks: 1, 1, 3. columns: the first one ranks, the next break ties."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a tournament that is drawn as one thing: a group, a bracket. rounds: of meetings, in their order."""

    key: str
    name: str
    kind: StageKind
    rounds: tuple[tuple[Meeting, ...], ...]
    table: Table | None = None

    @property
    def meetings(self) -> Iterator[Meeting]:
        for meetings in self.rounds:
            yield from meetings


@dataclass(frozen=True, slots=True)
class DuelOrder:
    """A duel to create. pairs: how many seat-swapped pairs of matches; so it has twice as many matches."""

    round: int
    players: tuple[int, int]
    pairs: int
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows from a history.

    play: duels to create now. waiting: open duels that count. stale: duels to take back, i.e. to cancel when they are
    open and to strike when they are not. table: as of now. notes: sentences on the tournament as a whole.
    """

    stages: tuple[Stage, ...]
    table: Table
    play: tuple[DuelOrder, ...] = ()
    waiting: tuple[DuelRecord, ...] = ()
    stale: tuple[DuelRecord, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        return not self.play and not self.waiting

    @property
    def round(self) -> int | None:
        """The earliest round with something to play; None when it is over."""
        open_rounds = [order.round for order in self.play] + [duel.round for duel in self.waiting]
        return min(open_rounds, default=None)

    @property
    def meetings(self) -> Iterator[Meeting]:
        for stage in self.stages:
            yield from stage.meetings


@dataclass(frozen=True, slots=True)
class Outline:
    """What a format itself works out; `Format.plan` makes a plan of it."""

    stages: tuple[Stage, ...]
    table: Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format(ABC):
    """A format with its settings, which are its fields.

    pairs: seat-swapped pairs of matches in a meeting. extension_pairs: in every further duel of a knock-out meeting
    that is level. extensions: how many of those there may be; still level, the better seed goes through. That is a
    rule known beforehand and said in the table, not a coin. stops_early: whether a duel may end before all its pairs
    are played, as soon as its own sequential test has decided it; who leads then has won it.
    """

    slug: ClassVar[str]
    name: ClassVar[str]
    has_extensions: ClassVar[bool] = False
    """Whether meetings may be level at first: without knock-out both settings do nothing."""

    pairs: int = 10
    extension_pairs: int = 5
    extensions: int = 5
    stops_early: bool = False

    def __post_init__(self) -> None:
        check_between("pairs", self.pairs, 1, MOST_PAIRS)
        check_between("extension_pairs", self.extension_pairs, 1, MOST_PAIRS)
        check_between("extensions", self.extensions, 0, MOST_EXTENSIONS)

    def check(self, count: int) -> None:
        """Raise Impossible when `count` participants cannot play this."""
        if count > MOST_PARTICIPANTS:
            raise Impossible(
                f"A tournament takes {MOST_PARTICIPANTS} participants at most, there are {count}; "
                "set a lower number of participants."
            )
        self.check_count(count)

    @abstractmethod
    def check_count(self, count: int) -> None:
        """What `check` has to say of this format alone."""

    @abstractmethod
    def outline(self, history: History) -> Outline:
        """Stages and table of a history; `check` has been passed."""

    def plan(self, history: History) -> Plan:
        """What to play next and how it stands. Raises Impossible."""
        self.check(len(history.participants))
        outline = self.outline(history)
        play: list[DuelOrder] = []
        waiting: list[DuelRecord] = []
        counted: set[int] = set()
        for stage in outline.stages:
            for meeting in stage.meetings:
                is_open = meeting.decision is None
                ahead = [duel for duel in meeting.duels if duel.state == DuelState.OPEN]
                if is_open:
                    waiting += ahead
                counted.update(duel.key for duel in meeting.duels if is_open or duel.state != DuelState.OPEN)
                if is_open and not ahead and None not in meeting.players:
                    play.append(self._order(meeting, history.seed))
        return Plan(
            stages=outline.stages,
            table=outline.table,
            play=tuple(play),
            waiting=tuple(waiting),
            stale=tuple(duel for duel in history.duels if duel.key not in counted),
            notes=outline.notes,
        )

    def _order(self, meeting: Meeting, seed: int) -> DuelOrder:
        one, other = meeting.players
        assert one is not None
        assert other is not None
        is_extension = meeting.count(DuelState.PLAYED) > 0
        return DuelOrder(
            round=meeting.round,
            players=(one, other),
            pairs=self.extension_pairs if is_extension else self.pairs,
            seed=_duel_seed(seed, meeting),
        )


def check_between(name: str, value: int, least: int, most: int) -> None:
    """Raise Impossible when a setting is out of its range."""
    if not least <= value <= most:
        raise Impossible(f"{name} is {value}; make it {least} to {most}.")


def _duel_seed(seed: int, meeting: Meeting) -> int:
    """Seed of the next duel of a meeting, 0 .. 2^31-1: its own for every meeting and for every duel of it."""
    # An extension with the seeds of the duel before it would be the same duel again.
    text = f"{seed} {meeting.round} {sorted(map(str, meeting.players))} {len(meeting.duels)}"
    return int.from_bytes(sha256(text.encode()).digest()[:4]) >> 1
