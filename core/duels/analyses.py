"""Analyses of matches: asked for by a person, computed once by a worker, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from arena_kit.analysis.blunders import Blunder
from arena_kit.analysis.positions import Position
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.blunders import blunders_keep
from core.duels.selectors import match_get, spec_get
from core.errors import Refused
from core.jobs.lifecycle import job_enqueue, job_succeed
from core.jobs.states import OPEN
from core.jobs.written import written_once
from core.models import AnalysedPosition, Analysis, Duel, JobState, Sitting, User
from core.people.quotas import owner_lock

ANALYSES_AT_ONCE = 3
"""How many analyses of one person may wait or run at the same time; each takes a worker at most some 20 s."""


def analysis_request(*, user: User, played: Duel | Sitting, number: int = 1) -> Analysis:
    """Put the analysis of a match in line; return the one that is there already, unless it failed.

    user: who asks; visitors share the account of a visitor's sitting. Check first that the person may see the match.
    Raises Refused and NotStored.
    """
    match_get(played, number)
    if not is_analysable(spec_get(played)):
        raise Refused(f"Matches of {played.environment} cannot be analysed: it has no solver.")
    with transaction.atomic():
        locked = owner_lock(user)
        found = Analysis.objects.select_for_update().filter(**_match(played, number)).first()
        if found is not None and found.state not in (JobState.FAILED, JobState.CANCELLED):
            return found
        if Analysis.objects.filter(asked_by=locked, state__in=OPEN).count() >= ANALYSES_AT_ONCE:
            who = "Visitors" if locked.is_system else "You"
            raise Refused(f"{who} have {ANALYSES_AT_ONCE} analyses in progress. Wait until one of them is ready.")
        if found is not None:
            found.delete()
        analysis_begin(user=locked, played=played, number=number)
    return Analysis.objects.get(**_match(played, number))


def analysis_begin(*, user: User, played: Duel | Sitting, number: int) -> bool:
    """Put the analysis of a match in line for a person; return False if there is one already."""
    with transaction.atomic():
        made, is_new = Analysis.objects.get_or_create(**_match(played, number), defaults={"asked_by": user})
        if is_new:
            job_enqueue(job=made)
    return is_new


@written_once
def analysis_succeed(
    *, analysis: Analysis, positions: Sequence[Position], log: str, seats: Sequence[int], found: Sequence[Blunder] = ()
) -> None:
    """Store the positions of an analysed match. Raises StaleJob when the claim was lost, and NotStored.

    seats: the player on each seat. found: the positions that are kept for the agents that blundered there.
    """
    with transaction.atomic():
        job_succeed(job=analysis, log=log)
        AnalysedPosition.objects.bulk_create(
            AnalysedPosition(
                analysis=analysis,
                ply=one.ply,
                to_move=one.to_move,
                value=one.value,
                plies=one.plies,
                best=list(one.best),
            )
            for one in positions
        )
        if analysis.duel is not None:
            blunders_keep(duel=analysis.duel, number=analysis.match_number, seats=seats, found=found)


def analysis_get(played: Duel | Sitting, number: int) -> Analysis | None:
    """Return the analysis of a match; None if it was not asked for."""
    return Analysis.objects.filter(**_match(played, number)).first()


def positions_get(analysis: Analysis) -> tuple[Position, ...]:
    """Return the positions of an analysis that has succeeded."""
    rows = analysis.positions.order_by("ply").values_list("ply", "to_move", "value", "plies", "best")
    return tuple(Position(ply, to_move, value, plies, tuple(best)) for ply, to_move, value, plies, best in rows)


def is_analysable(spec: EnvironmentSpec) -> bool:
    """Return whether matches by these rules can be analysed."""
    return bool(spec.solver)


def _match(played: Duel | Sitting, number: int) -> dict[str, Any]:
    """Return the columns of the analysis of a match."""
    return {"duel" if isinstance(played, Duel) else "sitting": played, "match_number": number}
