"""The contract of every tournament format: a pure function from a history to a plan.

The caller keeps rows and nothing else. After every event it passes the whole history to the format and brings its rows
in line with the plan: it creates the duels of `play`, takes back those of `stale`, and is done when the plan is
finished. The same history gives the same plan, so a worker may die at any point and another may plan again. To void a
round, the caller leaves its duels out of the history: the plan asks for them again, and every duel that was played
because of them is stale.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from arena_kit.ranking.formats.plan import CountedDuel, DuelOrder, DuelState, History, Meeting, Outline, Plan
from arena_kit.ranking.formats.settings import Impossible, setting, settings_of

MOST_PAIRS = 1_000
"""The largest duel: a larger one would occupy a core for hours."""
DUELS_OF_MEETING = 100
"""More duels than a meeting can have, with all extensions and those that ended void."""
MOST_PARTICIPANTS = 500
"""The largest tournament: a Swiss round of that size takes seconds to pair."""
MOST_MEETINGS = 5_000
"""The most meetings of a tournament, e.g. of a round robin of 100: all of them are planned again after every result."""


@dataclass(frozen=True)
class Format(ABC):
    """A format with its settings, which are its fields. Raises Impossible for settings that cannot be.

    rule: how the format goes, in a sentence or two for its page. plays_alone: whether it is for environments with one
    seat, where participants are evaluated and never meet. takes_baselines: whether participants may play without
    taking a rank, because nothing that they do changes who meets or beats anyone else. baseline_rule: a sentence.
    """

    slug: ClassVar[str]
    name: ClassVar[str]
    rule: ClassVar[str]
    plays_alone: ClassVar[bool] = False
    takes_baselines: ClassVar[bool] = False
    baseline_rule: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for one in settings_of(type(self)):
            one.check(getattr(self, one.name))

    @property
    def fewest(self) -> int:
        """How many participants it takes at least."""
        return 2

    def round_count(self, count: int, drawn: int) -> int:
        """How many rounds `count` participants play. drawn: the last round that the plan has so far."""
        return drawn

    def check(self, count: int, baselines: int = 0) -> None:
        """Raise Impossible when `count` participants cannot play this. baselines: how many play besides them."""
        if count + baselines > MOST_PARTICIPANTS:
            raise Impossible(
                f"A tournament takes at most {MOST_PARTICIPANTS} participants, but there are {count + baselines}; "
                "set a lower number of participants."
            )
        self.check_count(count)
        if baselines:
            self.check_baselines()
            self.check_count(count + baselines)

    def check_baselines(self) -> None:
        """Raise Impossible where there can be no baselines."""
        if not self.takes_baselines:
            raise Impossible(
                f"{self.name} takes no baselines, because each meeting there decides who goes on or who meets whom. "
                "Choose a round robin, or leave them out.",
                field="baselines",
            )

    @abstractmethod
    def check_count(self, count: int) -> None:
        """The part of `check` that depends on the format."""

    @abstractmethod
    def meeting_count(self, count: int) -> int:
        """How many meetings `count` participants have at most: no walkovers, no withdrawals, no ties at a cut.

        Where participants play alone, how many are evaluated.
        """

    def depth(self, count: int) -> int:
        """How many meetings wait for each other at most, so that more workers do not make it shorter."""
        return 1

    @property
    @abstractmethod
    def length(self) -> int:
        """Matches of a duel; where participants play alone, episodes of an evaluation."""

    def plan(self, history: History) -> Plan:
        """How a tournament stands and what to play next. Raises Impossible."""
        self.check(len(history.participants) - len(history.baselines), len(history.baselines))
        return self.planned(history)

    @abstractmethod
    def planned(self, history: History) -> Plan:
        """The plan of a history whose number of participants has passed `check`."""


@dataclass(frozen=True)
class MeetingFormat(Format):
    """A format in which participants meet in duels."""

    pairs: int = setting(
        10,
        "Seat-swapped pairs of matches in a meeting.",
        1,
        MOST_PAIRS,
        worked_out="half of what the environment plays in a duel",
    )
    stops_early: bool = setting(
        default=False,
        meaning="A duel ends as soon as a sequential test, by the bounds of the environment, has decided which of the "
        "two is stronger; one that it does not decide is played whole.",
    )

    @property
    def length(self) -> int:
        return 2 * self.pairs

    @abstractmethod
    def outline(self, history: History) -> Outline:
        """Stages and table of a history whose number of participants has passed `check`."""

    def planned(self, history: History) -> Plan:
        outline = self.outline(history)
        met: Counter[frozenset[int | None]] = Counter()
        play: list[DuelOrder] = []
        waiting: list[CountedDuel] = []
        counted: set[int] = set()
        for meeting in outline.meetings:
            ahead = [duel for duel in meeting.duels if duel.state == DuelState.OPEN]
            if meeting.is_open:
                waiting += ahead
            counted.update(duel.key for duel in meeting.duels if meeting.is_open or duel.state != DuelState.OPEN)
            if meeting.is_open and not ahead and None not in meeting.players:
                play.append(self._order(meeting, history.seed, met[frozenset(meeting.players)]))
            met[frozenset(meeting.players)] += 1
        return Plan(
            stages=outline.stages,
            table=outline.table,
            notes=outline.notes,
            play=tuple(play),
            waiting=tuple(waiting),
            stale=tuple(duel for duel in history.duels if duel.key not in counted),
        )

    def pairs_of(self, meeting: Meeting) -> int:
        """How many pairs the next duel of a meeting has."""
        return self.pairs

    def _order(self, meeting: Meeting, seed: int, met: int) -> DuelOrder:
        """Return the next duel of a meeting. met: the number of earlier meetings of the two."""
        one, other = meeting.players
        assert one is not None
        assert other is not None
        encounter = DUELS_OF_MEETING * met + len(meeting.duels)
        return DuelOrder(meeting.round, (one, other), self.pairs_of(meeting), _duel_seed(seed, meeting), encounter)


@dataclass(frozen=True)
class KnockOut(MeetingFormat):
    """A format in which meetings need a winner.

    A meeting that is level goes on with further duels; if it is still level after `extensions` of them, the better seed
    goes through. That rule is known beforehand and stated in the table; there is no lot.
    """

    extension_pairs: int = setting(5, "Pairs of matches in each extension of a tie.", 1, MOST_PAIRS)
    extensions: int = setting(3, "The most extensions of a tie in a knock-out, and at the cut of a group.", 0, 20)

    def pairs_of(self, meeting: Meeting) -> int:
        return self.extension_pairs if meeting.count(DuelState.PLAYED) else self.pairs


def _duel_seed(seed: int, meeting: Meeting) -> int:
    """The seed of the next duel of a meeting, 0 .. 2^31-1, different for every meeting and every duel of it."""
    # An extension with the seeds of the duel before it would repeat that duel.
    text = f"{seed} {meeting.round} {sorted(map(str, meeting.players))} {len(meeting.duels)}"
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1
