"""A duel that was drawn while its tournament is paused is given back by the worker that claims it."""

from __future__ import annotations

import pytest

from core.jobs.worker import Performed
from core.models import Duel, JobState, Tournament, TournamentState
from core.tests import factories
from core.tests.working import run
from core.tournaments.services import tournament_go_on

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_paused_duel_is_given_back_without_an_attempt_and_begins_when_it_may() -> None:
    environment = factories.environment()
    players = [factories.ready(factories.agent(factories.user(name), environment)) for name in ("anna", "berta")]
    cup = factories.tournament(players, state=TournamentState.RUNNING)
    Tournament.objects.filter(pk=cup.pk).update(is_automatic=False, name="Cup", paused_at=factories.NOON)
    duel = factories.duel(cup, *players, number=9, state=JobState.QUEUED)

    run(duel)

    duel.refresh_from_db()
    assert (duel.state, duel.attempt, duel.error_code) == (JobState.QUEUED, 0, "paused")
    # One that has begun would be played although a player has left.
    assert duel.started_at is None
    assert run(duel) == Performed.NOTHING
    tournament_go_on(tournament=cup)
    assert Duel.objects.filter(pk=duel.pk, not_before=None, error_code="").exists()
