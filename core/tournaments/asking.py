"""Asks the tournament manager for an edition of the arena's own."""

from __future__ import annotations

from django.db.models.functions import Now

from core.errors import Refused
from core.jobs.bells import TOURNAMENT_TASK, wake
from core.models import Environment, Play, Submission, TournamentState


def edition_ask(*, environment: Environment) -> None:
    """Ask for a new edition, which begins within seconds. Raises Refused if it is already clear that it cannot."""
    if environment.is_scored:
        raise Refused("It is ranked by scores, so there are no tournaments.")
    if not environment.is_active:
        raise Refused("The environment is not active.")
    if not environment.is_available:
        raise Refused(environment.unavailable_sentence)
    if environment.play == Play.LADDER:
        raise Refused("It plays a ladder, which starts by itself.")
    if environment.tournaments.filter(state=TournamentState.RUNNING, is_automatic=True).exists():
        raise Refused("An edition is running. Wait for its end or cancel it.")
    valid = Submission.objects.valid().filter(agent__environment=environment)
    if valid.values("agent").distinct().count() < 2:
        raise Refused("A tournament needs two agents with a valid version.")
    Environment.objects.filter(pk=environment.pk).update(start_asked_at=Now())
    wake("tournament", TOURNAMENT_TASK, environment.pk)
