"""The tournaments of all environments on one page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from core.models import Audience, Environment, Tournament, TournamentState
from core.tests import factories
from core.tests.factories import Cast
from core.tournaments.calendar import next_step

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


def test_the_next_step_is_the_one_whose_time_comes_first(environment: Environment) -> None:
    now = timezone.now()
    cup = factories.planned(environment)
    opens, closes, freezes, starts = (now + timedelta(hours=hours) for hours in (1, 3, 2, 4))
    cup.registration_opens_at, cup.registration_closes_at, cup.freezes_at, cup.starts_at = (
        opens,
        closes,
        freezes,
        starts,
    )
    said = [next_step(cup, now=now + timedelta(hours=hours + 0.5)) for hours in range(5)]
    assert said == [
        ("Registration opens", opens),
        ("Versions freeze", freezes),
        ("Registration closes", closes),
        ("Begins", starts),
        ("", None),
    ]
