"""Pages of tournaments say how many of their duels are on hold, and why."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from core.jobs.waits import HELD_CODE
from core.models import Duel, Environment, JobFault, JobState, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.plans import plan_save
from web.tests.drawn import standing

pytestmark = pytest.mark.django_db
PAGE = "/environments/tic-tac-toe/editions/1/"
ONE = "1 duel is on hold until the organisers have fixed the environment, which failed in it; no player is to blame."
MANY = "2 duels are on hold until the organisers have fixed the environment, which failed in them;"


@pytest.fixture
def tournament(cast: Cast, environment: Environment) -> Tournament:
    """A running edition of three, of whose duels the first two are on hold, and the others wait."""
    players = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("anna", "berta", "carla")]
    row = factories.tournament(players, state=TournamentState.RUNNING)
    row.duels.all().delete()
    for number, (one, other) in enumerate(((0, 1), (0, 2), (1, 2)), start=1):
        factories.duel(row, players[one], players[other], number=number, state=JobState.QUEUED)
    row.duels.filter(number__lt=3).update(
        error_code=HELD_CODE, fault=JobFault.PLATFORM, not_before=timezone.now() + timedelta(days=3650)
    )
    return row


@pytest.mark.parametrize(
    "fields", [{}, {"is_automatic": False}, {"format": "ladder", "name": ""}], ids=["edition", "organised", "ladder"]
)
def test_the_page_of_a_tournament_says_how_many_are_on_hold(
    client: Client, tournament: Tournament, fields: dict[str, object]
) -> None:
    Tournament.objects.update(**fields)
    tournament.refresh_from_db()
    plan_save(
        tournament=tournament, planned=standing(list(tournament.participants.values_list("submission", flat=True)))
    )
    assertContains(client.get(PAGE), MANY)
    # One that an organiser has requeued waits for a worker, as the others do.
    Duel.objects.filter(number=2).update(not_before=None)
    assertContains(client.get(PAGE), ONE)
    Duel.objects.update(not_before=None)
    assertNotContains(client.get(PAGE), "on hold")


def test_the_page_of_a_participant_says_it_too(client: Client, tournament: Tournament) -> None:
    assertContains(client.get(f"{PAGE}agents/anna/"), MANY)
    assertContains(client.get(f"{PAGE}agents/carla/"), ONE)


def test_a_ladder_names_no_duel_on_hold_as_the_next_one(client: Client, tournament: Tournament) -> None:
    Tournament.objects.update(format="ladder", name="")
    page = client.get(PAGE)
    assertContains(page, "berta v1 against carla v1")
    assertNotContains(page, "anna v1 against berta v1")
