"""Comparisons as pages and as JSON."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains
from rest_framework.throttling import SimpleRateThrottle

from core.models import Audience, Duel, Environment, LedgerVoid
from core.tests.factories import Cast
from tests.worlds import Fresh
from web.tests import played, scored
from web.tests.arena import Stage, staged

pytestmark = pytest.mark.django_db
PAGE = "/environments/tic-tac-toe/compare/"
API = f"/api/v1{PAGE}"


@pytest.fixture(scope="module")
def shared_stage(shared_cast: Cast, shared_environment: Environment) -> Stage:
    """anna and berta have met each other, and each of them clara."""
    stage = staged(shared_cast, shared_environment, match_count=20)
    for rival in (stage.anna, stage.berta):
        played.play(played.waiting_duel(stage.tournament, rival, stage.clara, 20))
    return stage


@pytest.fixture
def stage(shared_stage: Stage, fresh: Fresh) -> Stage:
    return fresh(shared_stage)


def test_a_page_says_which_of_two_is_better_and_from_what(client: Client, stage: Stage) -> None:
    page = client.get(PAGE, {"id": ["anna", str(stage.berta.public_id)]})
    assertContains(page, "<h1>anna v1 and berta v1</h1>")
    assertContains(page, "Against the same opponent no difference is shown yet:")
    assertContains(page, "In the duels between anna v1 and berta v1 no difference is shown yet: anna v1 scored")
    assertContains(page, f'href="/duels/{stage.duel.pk}/"')
    assertContains(page, " drawn · ")
    assertContains(page, 'value="anna v1"')
    assertContains(page, 'href="/docs/reference/comparisons/"')
    assert client.get("/docs/reference/comparisons/").status_code == 200


def test_held_back_and_void_duels_are_on_no_page(client: Client, cast: Cast, stage: Stage) -> None:
    address = f"{PAGE}?id=anna&id=berta"
    LedgerVoid.objects.create(duel=stage.duel, reason="A test.")
    assertNotContains(client.get(address), "Against each other")
    stage.tournament.results = Audience.HIDDEN
    stage.tournament.save()
    assertContains(client.get(address), "have met neither the same opponents nor each other yet.")
    client.force_login(cast.olga)
    assertContains(client.get(address), "Against the same opponents")


def test_what_cannot_be_compared_is_said(client: Client, stage: Stage) -> None:
    assertContains(client.get(PAGE), "Compare two agents")
    one = client.get(PAGE, {"id": ["anna", "<b>nobody"]})
    assertContains(one, "is called “&lt;b&gt;nobody”")
    assertContains(one, 'value="anna v1"')
    assertContains(client.get(PAGE, {"id": ["anna", "anna v1"]}), "Compare two agents")
    assertContains(client.get(PAGE, {"id": ["anna", "berta", "clara"]}), "This page compares two versions")


def test_a_comparison_costs_the_same_queries_however_many_duels_there_are(
    client: Client, stage: Stage, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        played.play(played.waiting_duel(stage.tournament, stage.anna, stage.clara, 2))
        with django_assert_max_num_queries(14):
            client.get(PAGE, {"id": ["anna", "berta"]})


def test_the_api_answers_the_same(client: Client, stage: Stage) -> None:
    answer = client.get(API, {"first": "anna", "second": "berta v1"}).json()
    assert answer["first"]["id"] == str(stage.anna.public_id)
    same, own = answer["same_opponents"], answer["own_duels"]
    assert (answer["sentence"], answer["same_seeds"]) == (f"{own['sentence']} {same['sentence']}", None)
    assert (same["results"], own["results"], own["verdict"]) == (40, 20, "open")
    assert same["difference"] == pytest.approx(same["first"] - same["second"])
    assert same["low"] <= same["difference"] <= same["high"]
    turned = client.get(API, {"first": "berta", "second": "anna"}).json()
    assert turned["same_opponents"]["low"] == pytest.approx(-same["high"])


def test_the_api_refuses_what_names_no_two_versions(client: Client, stage: Stage) -> None:
    wrong = client.get(API, {"first": "anna", "second": "nobody"})
    assert (wrong.status_code, list(wrong.json())) == (400, ["second"])
    for query in ({"first": "anna"}, {"first": "anna", "second": "anna v1"}):
        assert client.get(API, query).status_code == 400


def test_evaluations_are_compared_seed_by_seed(client: Client, cast: Cast) -> None:
    task = scored.environment(episodes=12)
    for name, score in (("high", 30.0), ("low", 20.0)):
        scored.evaluation(scored.submission(cast.alice, task, name), [score + number for number in range(12)])
    said = "high v1 is better than low v1: on the same 12 seeds it scored 35.5 on average, low v1 25.5."
    assertContains(client.get("/environments/cart-pole/compare/?id=high&id=low"), said)
    answer = client.get("/api/v1/environments/cart-pole/compare/?first=low&second=high").json()
    assert (answer["same_seeds"]["verdict"], answer["own_duels"]) == ("second", None)
    assert answer["sentence"].startswith(said)


def test_equal_scores_are_a_sentence_and_no_chart(client: Client, cast: Cast) -> None:
    task = scored.environment(episodes=3)
    for name, scores in (("best", [500.0] * 3), ("worst", [9.0] * 3), ("other", [8.0, 9.0, 10.0])):
        scored.evaluation(scored.submission(cast.alice, task, name), scores)
    page = client.get("/environments/cart-pole/compare/?id=best&id=worst")
    assertContains(page, "A: All 3 episodes of best v1 scored 500.")
    assertContains(page, "B: All 3 episodes of worst v1 scored 9.")
    assertNotContains(page, "distribution-plot")
    mixed = client.get("/environments/cart-pole/compare/?id=best&id=other")
    assertContains(mixed, "A: All 3 episodes of best v1 scored 500.")
    assertNotContains(mixed, "of other v1 scored")
    assertContains(mixed, "distribution-plot")


def test_an_agents_versions_lead_to_their_comparison(client: Client, stage: Stage) -> None:
    newer = played.ready(stage.anna.agent)
    page = client.get("/environments/tic-tac-toe/agents/anna/")
    assertContains(page, f'<form method="get" action="{PAGE}">')
    assertContains(page, f'name="id" value="{newer.public_id}" id="choose-2" checked')
    assertContains(page, f'href="{PAGE}?id={newer.public_id}"')
    assert Duel.objects.count() == 3


def test_comparisons_count_with_the_pages_of_matches(
    client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page reads up to ninety records."""
    rates = {**SimpleRateThrottle.THROTTLE_RATES, "replay": "1/minute"}
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", rates)
    assert [client.get(PAGE).status_code for _ in range(2)] == [200, 429]
