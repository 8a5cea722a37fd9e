"""Decides meetings from their duels: one function per kind of tournament.

A duel that has begun is played to its end in any case, and its meeting stays open until then. Otherwise leaving
would take back a duel that is being lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace

from arena_kit.ranking.formats.plan import CountedDuel, Decision, DuelState, History, Meeting

VOID_LIMIT = 3
"""After this many void duels a meeting is given up, so that a tournament does not wait for what cannot be played."""


class Records:
    """The duels of a history by round and pair."""

    def __init__(self, history: History) -> None:
        self._by_pair: dict[tuple[int, frozenset[int]], list[CountedDuel]] = defaultdict(list)
        for duel in history.duels:
            self._by_pair[duel.round, frozenset(duel.players)].append(duel)

    def of(self, number: int, one: int | None, other: int | None) -> tuple[CountedDuel, ...]:
        """The duels of two players in a round, in the order of their creation; none while a player is unknown."""
        if one is None or other is None:
            return ()
        return tuple(self._by_pair.get((number, frozenset((one, other))), ()))

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """The (player_1, player_2) of all pairs of a round, each pair once."""
        return [duels[0].players for (where, _), duels in self._by_pair.items() if where == number]


def settle_all_play_all(meeting: Meeting, annulled: Container[int], gone: Container[int]) -> Meeting:
    """Decide a meeting of a table in which all meet all.

    Meetings of `annulled` participants do not count, as in editions, see `standings`, so that no participant gains from
    having met them early. Meetings that can never be played, because a player is `gone` or the arena cannot, do not
    count either.
    """
    if meeting.is_being_played:
        return meeting
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
    """The player with the walkover of an open meeting; None while both players are there.

    If both are gone, it is the one who stayed longer: they had the walkover before they left, and taking it back would
    make all their later duels stale.
    """
    first = next((who for who in gone if who in meeting.players), None)
    if first is None:
        return None
    return meeting.players[1] if first == meeting.players[0] else meeting.players[0]


def settle_swiss(meeting: Meeting, gone: Sequence[int]) -> Meeting:
    """Decide a meeting of a Swiss round: results stand, and the opponent of a player who is gone has a walkover.

    Draws and meetings that cannot be played have no winner and bring each half of the matches. gone: in the order in
    which they left.
    """
    if meeting.count(DuelState.PLAYED):
        return replace(meeting, decision=Decision.PLAYED, winner=meeting.ahead)
    if meeting.count(DuelState.VOID) >= VOID_LIMIT:
        return replace(meeting, decision=Decision.UNPLAYABLE)
    stayed = None if meeting.is_being_played else _stayed(meeting, gone)
    if stayed is not None:
        return replace(meeting, decision=Decision.WALKOVER, winner=stayed)
    return meeting


def settle_knock_out(meeting: Meeting, gone: Sequence[int], seeds: Sequence[int | None], extensions: int) -> Meeting:
    """Decide a meeting that needs a winner.

    The sum over its duels decides; while that is level, there is one more duel, up to `extensions` times. After that
    the better seed (the earlier one in `seeds`) goes through. A player who is gone loses meetings that are still open,
    not those decided before. If both are gone (in the order in which they left), one goes through all the same, so that
    no place of the bracket is empty: the next opponent then has a walkover.
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
    stayed = None if meeting.is_being_played else _stayed(meeting, gone)
    if stayed is not None:
        return replace(meeting, decision=Decision.WALKOVER, winner=stayed)
    return meeting
