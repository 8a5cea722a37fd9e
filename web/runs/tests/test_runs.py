"""Runs over the API: started once, found, cancelled, and seen by their caller alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from core.models import Duel, JobState, Run, Submission, User
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/runs/"


@pytest.fixture
def cast() -> Cast:
    return factories.cast()


@pytest.fixture
def players(cast: Cast) -> tuple[Submission, Submission]:
    """Alice's agent and Bob's, which may meet."""
    game = factories.environment()
    mine = factories.ready(factories.agent(cast.alice, game, "anna"))
    rival = factories.ready(factories.agent(cast.bob, game, "bert"))
    factories.rating(rival, 1500, rank=1, worst_rank=1)
    return mine, rival


def program(user: User) -> Client:
    _, token = token_create(owner=user, name="test", now=timezone.now(), days=1)
    return Client(headers={"Authorization": f"Bearer {token}"})


def wanted(versions: tuple[Submission, Submission], **changes: Any) -> dict[str, Any]:
    named = [
        {"name": name, "version": f"submission:{one.pk}", "words": f"v-{name}", "metadata": {"of": name}}
        for name, one in zip("ab", versions, strict=True)
    ]
    return {"key": "one", "environment": "tic-tac-toe", "players": named, "match_count": 3, "seed": 0} | changes


def post(client: Client, address: str, data: object = None) -> Any:
    return client.post(address, data or {}, content_type="application/json")


def test_a_run_is_started_once_found_by_its_key_and_cancelled(
    cast: Cast, players: tuple[Submission, Submission]
) -> None:
    alice = program(cast.alice)
    first, again = (post(alice, ADDRESS, wanted(players)) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    run = first.json()
    assert run == again.json()
    assert (run["state"], run["match_count"], run["matches_done"], run["result"]) == ("QUEUED", 3, 0, None)
    duel = Duel.objects.get(pk=run["duel"])
    assert (duel.seed, duel.player_1, duel.player_2) == (0, *players)
    assert post(alice, ADDRESS, wanted(players, seed=1)).status_code == 400, "The key belongs to another request."
    line = {name: value for name, value in run.items() if name != "result"}
    assert alice.get(f"{ADDRESS}?key=one").json()["results"] == [line]
    assert alice.get(f"{ADDRESS}{run['id']}/").json() == run
    over = post(alice, f"{ADDRESS}{run['id']}/cancel/").json()
    assert (over["state"], over["error"]) == ("CANCELLED", "Its owner has cancelled it.")


def test_a_result_has_the_callers_words(cast: Cast, players: tuple[Submission, Submission]) -> None:
    alice = program(cast.alice)
    run = post(alice, ADDRESS, wanted(players)).json()
    figures = {"outcome": "PLAYER_1", "player_1_wins": 2, "draws": 1, "matches_done": 3}
    factories.moved(Duel.objects.filter(run=run["id"]), JobState.SUCCEEDED, **figures)
    result = alice.get(f"{ADDRESS}{run['id']}/").json()["result"]
    assert (result["winner"], result["draws"]) == ("a", 1)
    assert [(side["words"], side["metadata"], side["wins"]) for side in result["sides"]] == [
        ("v-a", {"of": "a"}, 2), ("v-b", {"of": "b"}, 0),
    ]  # fmt: skip


def test_callers_see_their_own_runs_alone(cast: Cast, players: tuple[Submission, Submission]) -> None:
    number = post(program(cast.alice), ADDRESS, wanted(players)).json()["id"]
    assert program(cast.olga).get(ADDRESS).json()["count"] == 0
    assert Client().get(ADDRESS).status_code == 401
    for other, status in ((program(cast.olga), 404), (Client(), 401)):
        assert other.get(f"{ADDRESS}{number}/").status_code == status
        assert post(other, f"{ADDRESS}{number}/cancel/").status_code == status
        assert other.get(f"{ADDRESS}{number}/records/").status_code == status
    assert Run.objects.get().duel.state == JobState.QUEUED


def test_records_that_are_not_there_yet_are_named(cast: Cast, players: tuple[Submission, Submission]) -> None:
    alice = program(cast.alice)
    number = post(alice, ADDRESS, wanted(players)).json()["id"]
    answer = alice.get(f"{ADDRESS}{number}/records/")
    assert (answer.status_code, "waiting for a worker" in answer.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"environment": "chess"}, "environment"),
        ({"players": []}, "players"),
        ({"match_count": 0}, "match_count"),
        ({"seconds": 4000}, "seconds"),
        ({"players": [{"name": "a", "version": "registry.example.org/a:1"}, {"name": "b", "version": "agent:1"}]},
         "players[0].version"),
    ],
)  # fmt: skip
def test_a_wrong_request_names_its_field(
    cast: Cast, players: tuple[Submission, Submission], changes: dict[str, Any], field: str
) -> None:
    answer = post(program(cast.alice), ADDRESS, wanted(players, **changes))
    assert (answer.status_code, field in answer.json()) == (400, True), answer.json()


def test_words_of_a_caller_have_a_limit(cast: Cast, players: tuple[Submission, Submission]) -> None:
    asked = wanted(players)
    asked["players"][0]["metadata"] = {"notes": "x" * 5000}
    answer = post(program(cast.alice), ADDRESS, asked)
    assert "at most 4000 characters together" in str(answer.json())
