"""Sittings as pages and workers read them."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, OuterRef, Subquery

from arena_kit.environment.partial import SoFar, so_far
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.referee.sitting import SittingMove as Move
from core.duels.selectors import NotStored, spec_get
from core.jobs.states import OPEN
from core.models import Environment, Rating, Sitting, SittingMove, Submission, User
from core.sittings.permissions import open_agents

IDLE = timedelta(minutes=30)
"""A person who does not move for this long has left the board."""


def sitting_get(public_id: UUID) -> Sitting:
    """Return a sitting with what its board names. Raises Sitting.DoesNotExist."""
    return Sitting.objects.select_related(*Sitting.RELATED).get(public_id=public_id)


def opening_of(sitting: Sitting) -> tuple[int, ...]:
    """Return the actions that a sitting begins with. Without an origin it begins with the rules' own start: people
    vary their play, so the random openings of duels are not needed."""
    return tuple(sitting.opening or ())


def moves_of(sitting: Sitting) -> list[Move]:
    """Return the moves of an open sitting that are stored."""
    rows = SittingMove.objects.filter(sitting=sitting).values_list("step", "seat", "action", "seconds")
    return [Move(*row) for row in rows]


def sitting_so_far(sitting: Sitting) -> SoFar:
    """Return the state of an open sitting. Raises NotStored."""
    moves = {(move.step, move.seat): move.action for move in moves_of(sitting)}
    try:
        return so_far(spec_get(sitting), seed=sitting.seed, opening=opening_of(sitting), moves=moves)
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        raise NotStored("The code of this environment has failed, so the match cannot be drawn now.") from None


def is_abandoned(persons_turn_at: datetime, *, now: datetime) -> bool:
    """Return whether a person whose turn it is has left the board."""
    return now - persons_turn_at >= IDLE


def sittings_open(user: User) -> list[Sitting]:
    """Return a person's open sittings, newest first."""
    rows = Sitting.objects.filter(user=user, state__in=OPEN).select_related("submission__agent__environment")
    return list(rows.order_by("-pk"))


def boards_changed() -> dict[str, str]:
    """Return the state of every open sitting by its name in addresses: a text that differs after every change."""
    rows = Sitting.objects.filter(state__in=OPEN).values_list("public_id", "persons_turn_at", "resigned_at")
    return {str(name): f"{moved_at} {resigned_at}" for name, moved_at, resigned_at in rows}


def opponents_of(user: User | None, environment: Environment, *, count: int) -> list[Submission]:
    """Return the versions that a person may play against in an environment, the best rated first."""
    playing = Submission.objects.playing_for(OuterRef("pk")).values("pk")[:1]
    rated = Rating.objects.filter(submission__agent=OuterRef("pk"), rank__isnull=False).order_by("rank")
    agents = open_agents(user).filter(environment=environment).annotate(playing=Subquery(playing))
    best = F("best_rank").asc(nulls_last=True)
    ranked = agents.filter(playing__isnull=False).annotate(best_rank=Subquery(rated.values("rank")[:1]))
    chosen = list(ranked.order_by(best, "name").values_list("playing", flat=True)[:count])
    rows = Submission.objects.select_related("agent__environment", "agent__owner").in_bulk(chosen)
    return [rows[key] for key in chosen]
