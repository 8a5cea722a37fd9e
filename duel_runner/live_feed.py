"""Tells the moves of a duel that people watch, from the thread of its lease."""

from __future__ import annotations

from dataclasses import dataclass, field

from arena_kit.environment.records import MatchRecord
from arena_kit.referee.live import LiveView
from core.models import Duel, ToldMoves
from core.watching.selectors import MOST_ACTIONS
from core.watching.services import duel_is_watched, moves_forget, moves_store, why_not_live

MOST_AT_ONCE = 20
"""Finished matches that are told in one second; the rest follow."""
MOST_MATCHES = 200
"""So many finished matches of a duel are told before it is over, and later only those that were followed."""


@dataclass
class LiveFeed:
    """Tells the site a few rows a second of a duel that people watch: matches that are over, and one as it is played.

    Of a duel that is not watched it writes nothing. Nothing that a player said is told, only its legal moves.
    """

    duel: Duel
    view: LiveView
    _told: set[int] = field(default_factory=set)
    """The matches of which everything is told, or nothing will be."""
    _followed: int = 0
    """The number of the match that is told while it is played; 0 for none."""
    _count: int = 0
    """How many actions of it are stored."""

    def tell(self) -> None:
        """Tell what is new. Called about once a second, by a thread that does not play."""
        if why_not_live(self.duel) or not duel_is_watched(self.duel):
            return
        if not self._told and not self._followed:
            moves_forget()
        rows = [*self._over(), *self._played()]
        if rows:
            moves_store(rows)

    def _over(self) -> list[ToldMoves]:
        new = self.view.over(self._told)[:MOST_AT_ONCE]
        rows = [
            self._end(record)
            for record in new
            if len(record.actions) <= MOST_ACTIONS
            and (record.number == self._followed or len(self._told) < MOST_MATCHES)
        ]
        self._told.update(record.number for record in new)
        if self._followed in self._told:
            self._followed = 0
        return rows

    def _played(self) -> list[ToldMoves]:
        if not self._followed:
            self._followed, self._count = next((n for n in self.view.running() if n not in self._told), 0), 0
        actions = self.view.actions(self._followed)
        if not actions or not self._count < len(actions) <= MOST_ACTIONS:
            return []
        row = self._row(self._followed, self._count, actions[self._count :], is_followed=True)
        self._count = len(actions)
        return [row]

    def _end(self, record: MatchRecord) -> ToldMoves:
        is_followed = record.number == self._followed and self._count > 0
        begin = self._count if is_followed else 0
        return self._row(
            record.number,
            begin,
            record.actions[begin:],
            is_followed=is_followed,
            outcome=record.outcome.value,
            faulty_player=record.faulty_player,
            score_1=record.scores[0],
            score_2=record.scores[1],
        )

    def _row(self, match: int, begin: int, actions: tuple[int, ...], **fields: object) -> ToldMoves:
        claim = self.duel.claim_token
        assert claim is not None, "Only the worker that has claimed a duel tells of it."
        return ToldMoves(
            duel=self.duel,
            claim_token=claim,
            match=match,
            begin=begin,
            actions=list(actions),
            **fields,
        )
