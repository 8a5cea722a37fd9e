"""Tell when a duel is decided before its last match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arena_kit.environment.records import MatchRecord, half_points

ASKING_SHARE = 0.05
"""The largest share of a duel's time that is spent on asking whether the duel is decided."""

Decided = Callable[[Sequence[int]], int | None]
"""Takes the half points of player_1 by pair, in order; returns how many pairs decide the duel, None if undecided."""


class EarlyEnd:
    """Asks `decided` about the pairs that are over, at a bounded cost.

    Matches run at the same time, and short ones end first. A pair counts only when all pairs before it are over, and
    matches beyond the deciding pair are dropped. So the record depends neither on the number of matches that run at
    once nor on the players' speed.
    """

    def __init__(self, decided: Decided, clock: Callable[[], float]) -> None:
        self._decided, self._clock = decided, clock
        self._pairs: list[int] = []
        """Half points of player_1 in the pairs that are over, up to the first pair that is not."""
        self._asked, self._asks_again_at = 0, clock()
        """The number of pairs that `decided` has seen, and the earliest time to ask it again."""

    def is_due(self, records: Mapping[int, MatchRecord], *, is_over: bool) -> bool:
        """Take the pairs that are over; return whether to ask about them now.

        records: by the number of the match, counted from 1. is_over: whether all matches have a record.
        """
        while (number := 2 * len(self._pairs) + 1) in records and number + 1 in records:
            self._pairs += half_points((records[number], records[number + 1]))
        return len(self._pairs) > self._asked and (is_over or self._clock() >= self._asks_again_at)

    def deciding_pairs(self) -> int | None:
        """Return how many pairs decide the duel; None if the pairs so far do not."""
        begun = self._clock()
        self._asked = len(self._pairs)
        pairs = self._decided(self._pairs)
        self._asks_again_at = self._clock() + (self._clock() - begun) / ASKING_SHARE
        return pairs
