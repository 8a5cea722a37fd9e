"""Runs over the API: started once, found, cancelled, and seen by their caller alone."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from arena_kit.environment.record_archive import DuelArchive
from core.duels.selectors import records_open
from core.models import Duel, Evaluation, JobState, Run, Submission, User
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import Cast
from web.tests import played
from web.tests.arena import damage_match

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


@pytest.mark.parametrize(("slug", "seats"), [("pong", 2), ("tic-tac-toe", 1)])
def test_a_result_counts_steps_and_its_records_hide_traces_of_others(cast: Cast, slug: str, seats: int) -> None:
    alice, game = program(cast.alice), factories.environment(slug)
    players = [played.ready(factories.agent(owner, game, owner.username)) for owner in (cast.alice, cast.bob)]
    factories.rating(players[1], 1500, rank=1, worst_rank=1)
    number = post(alice, ADDRESS, wanted((players[0], players[1]), environment=slug)).json()["id"]
    played.play(Duel.objects.get(run=number), faults_of_1={2}, faults_of_2={3})
    duel = Duel.objects.get(run=number)
    # A forfeit at the first move leaves a match without actions.
    damage_match(duel, 1, actions=())
    duel.refresh_from_db()
    with records_open(duel) as archive:
        actions = [match.moves for match in archive.index]
    assert actions[0] == 0 < actions[1]
    assert alice.get(f"{ADDRESS}{number}/").json()["result"]["steps"] == sum(-(-count // seats) for count in actions)
    sent = io.BytesIO(alice.get(f"{ADDRESS}{number}/records/").getvalue())
    errors = [match.error for match in DuelArchive(sent).matches()]
    assert "secret_move" in errors[1]
    assert errors[2] == played.SENTENCE


def test_the_records_of_a_run_with_one_seat_are_those_of_its_evaluation(cast: Cast) -> None:
    alice, made = program(cast.alice), factories.ready(factories.agent(cast.alice, factories.task(), "anna"))
    one = [{"name": "a", "version": f"submission:{made.pk}"}]
    asked = {"environment": "cart-pole", "players": one, "match_count": 2, "seed": None}
    number = post(alice, ADDRESS, wanted((made, made), **asked)).json()["id"]
    answer = alice.get(f"{ADDRESS}{number}/records/")
    assert (answer.status_code, answer.json()["detail"]) == (404, "These records are not there.")
    records = default_storage.save("records.zip", ContentFile(b"episodes"))
    factories.moved(
        Evaluation.every.filter(run=number), JobState.SUCCEEDED, score=1.0, episodes_done=2, records=records,
        episodes=[(1, 1.0, 9, 0.1), (2, 1.0, 9, 0.1)],
    )  # fmt: skip
    answer = alice.get(f"{ADDRESS}{number}/records/")
    assert (answer.status_code, answer.getvalue()) == (200, b"episodes")
    assert alice.get(f"{ADDRESS}{number}/").json()["result"]["steps"] == 18


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
