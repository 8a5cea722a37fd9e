"""The input and the output of a tournament format: a history and a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from arena_kit.older import StrEnum


class DuelState(StrEnum):
    OPEN = "open"
    PLAYED = "played"
    VOID = "void"
    """The arena could not play the duel to its end, and will not try again. Neither player is to blame."""


class Decision(Enum):
    """How a meeting was decided; the value is a sentence for the page."""

    PLAYED = "Played."
    EXTENDED = "Tied at first, then decided by more matches."
    BETTER_SEED = "Still tied after all extensions: the better seed advances."
    UNPLAYABLE = "The arena could not play this meeting."
    WALKOVER = "The opponent has withdrawn."
    ANNULLED = "A participant has withdrawn: the meeting does not count."
    BYE = "No opponent in this round."
    NOT_NEEDED = "No longer needed."


class StageKind(StrEnum):
    ALL_PLAY_ALL = "all play all"
    SWISS = "swiss"
    BRACKET = "bracket"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a side of a meeting comes from: `seed` 3, the `winner` or `loser` of meeting "W1.2", `place` "A1"."""

    kind: str
    of: str


@dataclass(frozen=True, slots=True)
class CountedDuel:
    """A duel that counts: neither struck nor cancelled.

    key: how the caller identifies it, e.g. the id of its row. players: player_1 and player_2. points: 2 for a match won
    or forfeited by the opponent, 1 for a draw. scores: sums over the matches; they break ties in points. is_begun:
    whether an open duel is played to its end although one of its players has left.
    """

    key: int
    round: int
    players: tuple[int, int]
    state: DuelState = DuelState.OPEN
    points: tuple[int, int] = (0, 0)
    scores: tuple[float, float] = (0.0, 0.0)
    is_begun: bool = False


@dataclass(frozen=True, slots=True)
class CountedScore:
    """An evaluation that counts, of a participant that plays alone: neither void nor cancelled.

    state: void where the arena itself failed. values: mean score, lower and upper end of its 95% interval; None while
    it is open, and after a failure of the agent. failure: of the agent, as a sentence.
    """

    participant: int
    state: DuelState = DuelState.OPEN
    values: tuple[float, float, float] | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """All that a plan depends on, besides the settings.

    participants: in seed order, best first. duels: in the order in which they were created; a caller that strikes one
    also strikes the later ones of the same meeting, which were played because of it. left: participants who withdrew or
    were disabled, in the order in which they left, with the last round that then had duels that counted, 0 for none.
    A caller that strikes duels of round k and later lowers every larger value of `left` to k - 1, so that participants
    who are gone are not paired again. Those who leave after the plan is finished are not recorded. seed: of the
    tournament; the seeds of the duels follow from it. baselines: participants who take no rank. scores: in place of
    duels where participants play alone, in the order in which they were created. Raises ValueError for a history that
    contradicts itself.
    """

    participants: tuple[int, ...]
    duels: tuple[CountedDuel, ...] = ()
    left: Mapping[int, int] = field(default_factory=dict)
    seed: int = 0
    baselines: frozenset[int] = frozenset()
    scores: tuple[CountedScore, ...] = ()

    def __post_init__(self) -> None:
        known = set(self.participants)
        if len(known) < len(self.participants):
            raise ValueError("A participant occurs twice.")
        if not known.issuperset(self.baselines.union(self.left)) or not all(
            known.issuperset(duel.players) for duel in self.duels
        ):
            raise ValueError("The history names a player who does not take part.")
        if len({duel.key for duel in self.duels}) < len(self.duels):
            raise ValueError("A duel occurs twice.")

    @property
    def gone(self) -> tuple[int, ...]:
        """The participants who have left, earliest first; within a round in the order of `left`."""
        return tuple(sorted(self.left, key=lambda who: self.left[who]))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two participants in a round with all their duels there, or one participant with a bye.

    key: unique within the tournament. number: place in the round, from 1, top to bottom in a drawing. players:
    player_1 and player_2; None while a player is not known, and for the missing opponent of a bye. duels: those that
    count. decision: None while the meeting is open. winner: None for a draw, and for a meeting that does not count.
    points, scores: match points and scores of both sides over all duels played.
    """

    key: str
    round: int
    number: int
    players: tuple[int | None, int | None]
    sources: tuple[Source | None, Source | None] = (None, None)
    duels: tuple[CountedDuel, ...] = ()
    decision: Decision | None = None
    winner: int | None = None
    points: tuple[int, int] = (0, 0)
    scores: tuple[float, float] = (0.0, 0.0)

    def with_duels(self, duels: tuple[CountedDuel, ...]) -> Meeting:
        """The same meeting with these duels and what they sum up to."""
        points, scores = [0, 0], [0.0, 0.0]
        for duel in duels:
            if duel.state == DuelState.PLAYED:
                for side in (0, 1):
                    own = side if duel.players[0] == self.players[0] else 1 - side
                    points[side] += duel.points[own]
                    scores[side] += duel.scores[own]
        return replace(self, duels=duels, points=(points[0], points[1]), scores=(scores[0], scores[1]))

    @property
    def loser(self) -> int | None:
        """The opponent of the winner, where there are both."""
        if self.winner is None:
            return None
        return self.players[1] if self.winner == self.players[0] else self.players[0]

    @property
    def scores_per_match(self) -> tuple[float, float]:
        """Scores of both sides per match played, which compare between meetings of different lengths."""
        # Every match brings 2 points: to one side, or 1 to each.
        matches = max(1, sum(self.points) / 2)
        return self.scores[0] / matches, self.scores[1] / matches

    @property
    def ahead(self) -> int | None:
        """The player who leads by points, then by scores; None when they are level."""
        # Rounded as in the standings: the order in which scores were added up leaves traces in the last digits.
        first, second = ((self.points[side], round(self.scores[side], 9)) for side in (0, 1))
        if first == second:
            return None
        return self.players[0] if first > second else self.players[1]

    @property
    def duel_keys(self) -> tuple[int, ...]:
        return tuple(duel.key for duel in self.duels)

    def count(self, state: DuelState) -> int:
        return sum(duel.state == state for duel in self.duels)

    @property
    def is_being_played(self) -> bool:
        """Return whether one of its duels is played to its end although a player has left."""
        return any(duel.is_begun and duel.state == DuelState.OPEN for duel in self.duels)

    @property
    def is_open(self) -> bool:
        return self.decision is None

    @property
    def is_awaited(self) -> bool:
        """Return whether a player of the meeting is not known yet."""
        return self.is_open and None in self.players

    @property
    def is_bye(self) -> bool:
        return self.decision is not None and self.players[1] is None

    @property
    def is_off(self) -> bool:
        """Return whether an earlier result has made the meeting unnecessary."""
        return self.decision is Decision.NOT_NEEDED

    @property
    def sentence(self) -> str:
        """The decision in words; empty while the meeting is open."""
        return self.decision.value if self.decision else ""

    @property
    def remark(self) -> str:
        """The decision in words where it is more than that the meeting was played."""
        return "" if self.decision is Decision.PLAYED else self.sentence

    @property
    def has_score(self) -> bool:
        return any(self.points)

    @property
    def is_level(self) -> bool:
        """Return whether the points alone do not say who is ahead."""
        return self.has_score and self.points[0] == self.points[1]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. values: in the order of the table's columns, empty without a score. notes: for the page."""

    participant: int
    rank: int
    values: tuple[float, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows from best to worst; ties share ranks: 1, 1, 3. columns: the first one ranks, the others break ties."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a tournament that is drawn as one: a group, a bracket. rounds: their meetings, in order."""

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
    """A duel to create. pairs: seat-swapped pairs of matches, so it has twice as many matches.

    encounter: a number that is different for every duel of the same two, and 0 for the first; where duels share
    openings, those of the same number do.
    """

    round: int
    players: tuple[int, int]
    pairs: int
    seed: int
    encounter: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """How a tournament stands. table: of the whole tournament, as of now. notes: sentences on the whole."""

    stages: tuple[Stage, ...]
    table: Table
    notes: tuple[str, ...] = ()

    @property
    def meetings(self) -> Iterator[Meeting]:
        for stage in self.stages:
            yield from stage.meetings


@dataclass(frozen=True, slots=True)
class Plan(Outline):
    """The plan that follows from a history: how the tournament stands, and what to do next.

    play: duels to create now. waiting: open duels that count. stale: duels to take back, which are cancelled when they
    are open and struck when they are not. evaluate: participants to evaluate now. evaluated: those whose evaluation is
    open.
    """

    play: tuple[DuelOrder, ...] = ()
    waiting: tuple[CountedDuel, ...] = ()
    stale: tuple[CountedDuel, ...] = ()
    evaluate: tuple[int, ...] = ()
    evaluated: tuple[int, ...] = ()

    @property
    def is_finished(self) -> bool:
        return not (self.play or self.waiting or self.evaluate or self.evaluated)

    @property
    def round(self) -> int | None:
        """The earliest round with something to play; None when the tournament is over."""
        open_rounds = [order.round for order in self.play] + [duel.round for duel in self.waiting]
        return min(open_rounds, default=None)
