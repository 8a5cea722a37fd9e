"""Several workers that advance one environment at once, on a real database with real locks."""

from __future__ import annotations

import pytest

from core.models import Duel, Participant, Tournament, TournamentState
from core.tests import factories
from core.tests.concurrency import at_once
from tournament_manager.editions import advance
from tournament_manager.tests.samples import LATER, play_all, players, table

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4


def test_workers_that_look_together_start_one_edition() -> None:
    environment = factories.environment()
    players(environment, 3)
    at_once(*[lambda: advance(environment, now=LATER)] * WORKERS)

    assert Tournament.objects.get().edition == 1
    assert (Participant.objects.count(), Duel.objects.count()) == (3, 3)


def test_workers_that_look_together_end_an_edition_once_and_rightly() -> None:
    environment = factories.environment()
    one, two, three = players(environment, 3)
    advance(environment, now=LATER)
    play_all(Tournament.objects.get())
    at_once(*[lambda: advance(environment, now=LATER)] * WORKERS)

    tournament = Tournament.objects.get()
    assert tournament.state == TournamentState.FINISHED
    assert table(tournament) == [(one.pk, 1, 4), (two.pk, 2, 2), (three.pk, 3, 0)]
    assert not tournament.participants.filter(rating=None).exists()
