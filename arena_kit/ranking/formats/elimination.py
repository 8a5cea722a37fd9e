"""Knock-out formats: a participant is out after one loss, or after two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from arena_kit.ranking.formats import bracket
from arena_kit.ranking.formats.contract import KnockOut
from arena_kit.ranking.formats.meetings import Records, settle_knock_out
from arena_kit.ranking.formats.plan import History, Meeting, Outline, Table
from arena_kit.ranking.formats.ranking import rank_rows, said
from arena_kit.ranking.formats.settings import Impossible, third_place_setting


@dataclass(frozen=True)
class SingleElimination(KnockOut):
    """Losers are out. Standard seeding, 1 against the last; byes of the first round go to the best seeds.

    A level meeting goes on with further duels, see `KnockOut`. A participant who withdraws loses all open and later
    meetings by walkover, and the participants they have beaten stay out. A meeting that the arena cannot play, three
    times void, goes to the better seed: it must have a winner, and neither player is to blame. Table: participants who
    go out later stand higher; those who go out in the same round share a rank, unless the third place is played for.
    """

    slug: ClassVar[str] = "single-elimination"
    name: ClassVar[str] = "Single elimination"
    rule: ClassVar[str] = "The loser of a meeting is out. Seeds are drawn so that the best meet last."

    third_place: bool = third_place_setting()

    @property
    def fewest(self) -> int:
        return 4 if self.third_place else 2

    def check_count(self, count: int) -> None:
        if count < 2:
            raise Impossible(f"A knock-out needs at least 2 participants, but there are {count}; wait for more.")
        if count < self.fewest:
            raise Impossible(f"A match for third place needs 4 participants, but there are {count}; leave it out.")

    def meeting_count(self, count: int) -> int:
        return count - 1 + self.third_place

    def depth(self, count: int) -> int:
        return (count - 1).bit_length()

    def outline(self, history: History) -> Outline:
        slots = bracket.single_elimination(len(history.participants), third_place=self.third_place)
        return _outline(self, history, slots, lives=1)


@dataclass(frozen=True)
class DoubleElimination(KnockOut):
    """Participants are out after two losses. The grand final is played again if the one without a loss loses it.

    All other rules are as in single elimination: those who withdraw lose by walkover until they are out.
    """

    slug: ClassVar[str] = "double-elimination"
    name: ClassVar[str] = "Double elimination"
    rule: ClassVar[str] = (
        "A participant is out after two losses. Losers continue in a second bracket. Its winner meets the "
        "participant without a loss; if that one loses, they meet once more."
    )

    @property
    def fewest(self) -> int:
        return 3

    def check_count(self, count: int) -> None:
        if count < self.fewest:
            raise Impossible(
                f"Double elimination needs at least 3 participants, but there are {count}; "
                "wait for more, or take a single one."
            )

    def meeting_count(self, count: int) -> int:
        # All but one lose twice; the winner may lose once, and then the grand final is played again.
        return 2 * count - 1

    def depth(self, count: int) -> int:
        slots = bracket.double_elimination(count)
        return len({slot.round for slot in slots})

    def outline(self, history: History) -> Outline:
        return _outline(self, history, bracket.double_elimination(len(history.participants)), lives=2)


def _outline(played: KnockOut, history: History, slots: Sequence[bracket.FutureMeeting], lives: int) -> Outline:
    settle = partial(settle_knock_out, gone=history.gone, seeds=history.participants, extensions=played.extensions)
    meetings = bracket.play_out(slots, history.participants, Records(history), settle)
    keys, columns = reached(history.participants, meetings, lives)
    rows = rank_rows(history.participants, keys, keys, gone=history.left, notes=said(meetings))
    return Outline(bracket.stages(slots, meetings), Table(columns, rows))


def reached(
    participants: Sequence[int], meetings: Sequence[Meeting], lives: int
) -> tuple[dict[int, tuple[float, ...]], tuple[str, ...]]:
    """How far each participant has come, as keys of a table, and the names of its columns.

    The key is the round in which a participant went out, or one more than the last round for those still in.
    """
    out = bracket.lost_in(meetings, lives)
    beyond = max(meeting.round for meeting in meetings) + 1
    keys: dict[int, tuple[float, ...]] = {who: (out.get(who, beyond),) for who in participants}
    third = next((meeting for meeting in meetings if meeting.key == bracket.THIRD_PLACE), None)
    if third is None:
        return keys, ("Reached round",)
    return {who: (*key, int(who == third.winner)) for who, key in keys.items()}, ("Reached round", "Third place")
