"""From the duels of a meeting to its decision: one function per kind of tournament."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

from arena_kit.ranking.formats.plan import Decision, DuelRecord, DuelState, History, Meeting

VOID_LIMIT = 3
"""A meeting of which so many duels ended void is not tried again: what the arena cannot play it must not wait for."""


class Records:
    """The duels of a history by round and pair."""

    def __init__(self, history: History) -> None:
        self._by_pair: dict[tuple[int, frozenset[int]], list[DuelRecord]] = defaultdict(list)
        for duel in history.duels:
            self._by_pair[duel.round, frozenset(duel.players)].append(duel)

    def of(self, number: int, one: int | None, other: int | None) -> tuple[DuelRecord, ...]:
        """The duels between two in a round, in the order in which they were created; none while one is unknown."""
        if one is None or other is None:
            return ()
        return tuple(self._by_pair.get((number, frozenset((one, other))), ()))

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """(player_1, player_2) of everybody who was paired in a round, each pair once."""
        return [duels[0].players for (where, _), duels in self._by_pair.items() if where == number]


def settle_all_play_all(meeting: Meeting, annulled: Container[int], gone: Container[int]) -> Meeting:
    """A meeting of a table where all meet all.

    Those who are `annulled` count for nobody, as in the classic editions, see `standings`: then nobody gains by the
    accident of having met them early. What can never be played counts for nobody either: for want of a player who is
    `gone`, or because the arena cannot.
    """
    if any(player in annulled for player in meeting.players):
        return replace(meeting, decision=Decision.ANNULLED)
    if meeting.count(DuelState.PLAYED):
        return replace(meeting, decision=Decision.PLAYED, winner=meeting.ahead)
    if meeting.count(DuelState.VOID) >= VOID_LIMIT:
        return replace(meeting, decision=Decision.UNPLAYABLE)
    if any(player in gone for player in meeting.players):
        return replace(meeting, decision=Decision.ANNULLED)
    return meeting


def _stayed(meeting: Meeting, gone: Sequence[int]) -> int | None:
    """Who has the walkover of a meeting that is open; None while both are there.

    Of two who are gone it is the one who stayed longer. They had it already when they left; taken back, all that they
    have played on the strength of it would be stale.
    """
    first = next((who for who in gone if who in meeting.players), None)
    if first is None:
        return None
    return meeting.players[1] if first == meeting.players[0] else meeting.players[0]


def settle_swiss(meeting: Meeting, gone: Sequence[int]) -> Meeting:
    """A meeting of a Swiss round: what was played or given up stands; who is gone leaves a walkover.

    Without a winner: a draw, or what cannot be played, which is half of the points for each. gone: in the order in
    which they left.
    """
    if meeting.count(DuelState.PLAYED):
        return replace(meeting, decision=Decision.PLAYED, winner=meeting.ahead)
    if meeting.count(DuelState.VOID) >= VOID_LIMIT:
        return replace(meeting, decision=Decision.UNPLAYABLE)
    stayed = _stayed(meeting, gone)
    if stayed is not None:
        return replace(meeting, decision=Decision.WALKOVER, winner=stayed)
    return meeting


def settle_knock_out(meeting: Meeting, gone: Sequence[int], seeds: Sequence[int | None], extensions: int) -> Meeting:
    """A meeting that needs a winner.

    The sum over its duels decides; while that is level there is one more duel, `extensions` times. The better seed (the
    earlier one in `seeds`) goes through when nothing else tells them apart. Who is gone loses what is still open then,
    and nothing that was decided before; of two who are gone (in the order in which they left) one goes through all the
    same: then whoever comes next has a walkover, and no place of a bracket is ever empty.
    """
    if None in meeting.players:
        return meeting
    one, other = meeting.players
    better = one if seeds.index(one) < seeds.index(other) else other
    played = meeting.count(DuelState.PLAYED)
    if meeting.ahead is not None:
        decision = Decision.PLAYED if played == 1 else Decision.EXTENDED
        return replace(meeting, decision=decision, winner=meeting.ahead)
    if played > extensions:
        return replace(meeting, decision=Decision.BETTER_SEED, winner=better)
    if meeting.count(DuelState.VOID) >= VOID_LIMIT:
        return replace(meeting, decision=Decision.UNPLAYABLE, winner=better)
    stayed = _stayed(meeting, gone)
    if stayed is not None:
        return replace(meeting, decision=Decision.WALKOVER, winner=stayed)
    return meeting
