"""The tournaments of all environments on one page."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Audience, Environment, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db


def test_it_lists_what_is_planned_and_played_and_the_winners_that_everyone_may_know(
    client: Client, cast: Cast, environment: Environment
) -> None:
    assertContains(client.get("/tournaments/"), "No tournament is planned")
    players = [factories.ready(factories.agent(cast.alice, environment, name)) for name in ("anna", "berta")]
    factories.planned(environment, name="Spring cup")
    factories.tournament(players, edition=7, state=TournamentState.RUNNING)
    cup = factories.tournament(players, edition=8)
    Tournament.objects.filter(pk=cup.pk).update(is_automatic=False, name="Autumn cup")
    # Of what the arena plays by itself, only the last edition; the others stand on the page of their environment.
    for edition in (9, 10):
        factories.tournament(players, edition=edition)
    page = client.get("/tournaments/")
    editions = ("Tic-tac-toe, edition 7</a>", "Tic-tac-toe, edition 10</a>")
    for told in ("Spring cup", "Autumn cup", *editions, "Tic-tac-toe", "won by", "<strong>anna</strong>"):
        assertContains(page, told)
    assertNotContains(page, "edition 9")
    Tournament.objects.update(results=Audience.HIDDEN)
    page = client.get("/tournaments/")
    assertContains(page, "results are withheld")
    assertNotContains(page, "anna")
