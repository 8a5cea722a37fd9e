"""The matches of a duel: those to come, those that are running, and the records of those that are over."""

from __future__ import annotations

from collections import deque

from arena_kit.environment.records import MatchRecord
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.bulk import matches_begin_ahead
from arena_kit.referee.match import Match, match_seed
from arena_kit.referee.wire import Encoder


class DuelMatches:
    """Begins the matches of a duel in order, and keeps their records.

    seed: that of the duel. count: the number of matches that count. bank_seconds: of each player in each match.
    opening: as in `run_duel`.
    """

    def __init__(
        self,
        spec: EnvironmentSpec,
        encoder: Encoder,
        *,
        seed: int,
        count: int,
        bank_seconds: float,
        opening: tuple[int, ...] | None = None,
    ) -> None:
        self._spec, self._encoder, self._seed, self._bank = spec, encoder, seed, bank_seconds
        self._opening = opening
        self.count = count
        """Number of matches that count; it drops when the duel ends early."""
        self.records: dict[int, MatchRecord] = {}
        """By number: the matches that are over."""
        self.running: dict[int, Match] = {}
        self._next = 1
        self._coming: deque[Match] = deque()
        """The matches from `_next` on that have been made already."""

    def are_over(self) -> bool:
        """Return whether every match that counts has a record."""
        return len(self.records) >= self.count

    @property
    def played(self) -> tuple[MatchRecord, ...]:
        """The records of the matches that count, in order, once all of them are over."""
        return tuple(self.records[number] for number in range(1, self.count + 1))

    @property
    def done_count(self) -> int:
        return min(len(self.records), self.count)

    @property
    def done_in_order_count(self) -> int:
        """How many matches are over before the first one that is not."""
        return next(number for number in range(1, self.count + 2) if number not in self.records) - 1

    def begin(self, room: int) -> Match | None:
        """Begin the next match; return None if all have begun, or if `room` matches are running."""
        if self._next > self.count or len(self.running) >= room:
            return None
        if not self._coming:
            self._make(room if self._spec.runs_apart else 1)
        match = self._coming.popleft()
        self.running[match.number] = match
        self._next += 1
        return match

    def _make(self, count: int) -> None:
        """Make the next matches. An environment server begins all of them with one question."""
        for number in range(self._next, min(self._next + count, self.count + 1)):
            match = Match(
                self._spec,
                self._encoder,
                number=number,
                seed=match_seed(self._spec, self._seed, number) if self._opening is None else self._seed,
                seats=(0, 1) if number % 2 else (1, 0),
                bank=self._bank,
                opening=self._opening,
            )
            self._coming.append(match)
        if self._spec.runs_apart:
            coming = list(self._coming)
            matches_begin_ahead([match.beginning() for match in coming], [match.number for match in coming])

    def keep(self, match: Match) -> None:
        """Keep the record of a match that is over."""
        assert match.record is not None
        self.records[match.number] = match.record
        self.running.pop(match.number, None)
        match.forget()

    def end_at(self, count: int) -> None:
        """Drop what is beyond match `count`: records, and matches that are running."""
        self.count = count
        self.records = {number: record for number, record in self.records.items() if number <= count}
        for match in [match for match in self.running.values() if match.number > count]:
            match.is_over = True
            match.forget()
            del self.running[match.number]
