"""The matches of a duel that are worth a look, by a plain rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from django.db.models import F, Max, Min, QuerySet

from arena_kit.environment.record_archive import MatchSummary
from arena_kit.environment.records import Fault, Outcome
from core.duels.latest import NOT_STRUCK
from core.duels.selectors import NotStored, records_open
from core.lookup import Objects
from core.models import Analysis, Duel, JobState

SURPRISE = 0.2
"""A won match is a surprise if its winner won at most this share of the matches that were won by play."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """A match worth a look. why: in a few words. duel: the one that it is of, where that is another than in view."""

    number: int
    why: str
    duel: Duel | None = None


def highlights(duel: Duel, index: Sequence[MatchSummary]) -> list[Highlight]:
    """Return the matches of a duel that are worth a look, by number. index: all its matches. One query.

    These are the won ones whose analysis shows that a mistake changed who could win, the surprises, and the longest.
    Matches that repeat others and those that were forfeited are left out.
    """
    found = {row.number: row for row in index if row.fault is Fault.NONE and row.same_as in (None, row.number)}
    if not found:
        return []
    won: Counter[Outcome] = Counter(row.outcome for row in found.values() if row.outcome is not Outcome.DRAW)
    why = {max(found.values(), key=lambda row: (row.moves, -row.number)).number: "the longest"}
    for row in found.values():
        if won[row.outcome] and won[row.outcome] <= SURPRISE * won.total():
            why[row.number] = "a surprise"
    for number in _decided_by_mistakes(duel):
        if number in found and found[number].outcome is not Outcome.DRAW:
            why[number] = "a mistake"
    return [Highlight(number, why[number]) for number in sorted(why)]


def highlights_beside(
    duel: Duel, index: Sequence[MatchSummary], number: int
) -> tuple[Highlight | None, Highlight | None]:
    """Return the matches worth a look before and after a match of a duel; None at either end.

    Before the first one and after the last one of the duel, these are of the tournament's duels beside it.
    """
    found = highlights(duel, index)
    before = [one for one in found if one.number < number]
    after = [one for one in found if one.number > number]
    return (
        before[-1] if before else _in_duel_beside(duel, -1),
        after[0] if after else _in_duel_beside(duel, 0),
    )


def _played(tournament: int, **where: object) -> QuerySet[Duel]:
    rows = Duel.objects.filter(NOT_STRUCK, tournament=tournament, state=JobState.SUCCEEDED, **where).exclude(records="")
    return rows.select_related("player_1__agent", "player_2__agent")


BEFORE = Objects(lambda tournament, number: _played(tournament, number__lt=number).order_by("-number")[:1])
AFTER = Objects(lambda tournament, number: _played(tournament, number__gt=number).order_by("number")[:1])


def _in_duel_beside(duel: Duel, place: int) -> Highlight | None:
    """Return the first match worth a look of the tournament's next duel, or for place −1 the last of the one before."""
    if duel.tournament_id is None:
        return None
    for beside in (BEFORE if place else AFTER)(duel.tournament_id, duel.number):
        with suppress(NotStored), records_open(beside) as archive:
            if found := highlights(beside, archive.index):
                return replace(found[place], duel=beside)
    return None


def _decided_by_mistakes(duel: Duel) -> list[int]:
    """Return the matches of a duel in whose analysis the value of the positions changes, which takes a mistake."""
    rows = Analysis.objects.filter(duel=duel, state=JobState.SUCCEEDED).order_by()
    values = rows.annotate(low=Min("positions__value"), high=Max("positions__value"))
    return list(values.filter(low__lt=F("high")).values_list("match_number", flat=True))
