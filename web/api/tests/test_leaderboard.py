"""Boards and health as clients and monitors of older systems read them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from web.api.tests.conftest import Arena
from web.tests import scored

pytestmark = pytest.mark.django_db
BOARD = "/api/leaderboard/"


def board(client: Client, query: str = "", address: str = BOARD) -> list[dict[str, Any]]:
    cache.clear()
    response = client.get(f"{address}{query}")
    assert response.status_code == 200, response.content
    rows: list[dict[str, Any]] = response.json()
    return rows


def test_a_board_is_a_list_in_the_known_form(client: Client, arena: Arena) -> None:
    evaluation = arena.verified
    assert board(client)[0] == {
        "rank": 1,
        "id": str(evaluation.submission.public_id),
        "user_id": "alice",
        "algorithm": "Q-learning",
        "score": evaluation.score,
        "created_at": "2026-03-01T12:00:00Z",
        "env_id": "CartPole-v1",
        "medal": "gold",
        "verified": True,
        "score_low": evaluation.score_low,
        "score_high": evaluation.score_high,
    }


@pytest.mark.parametrize(
    "address", [BOARD, "/api/leaderboard", "/leaderboard/CartPole-v1", "/leaderboard/CartPole-v1/"]
)
def test_every_known_address_has_it(client: Client, arena: Arena, address: str) -> None:
    assert [row["user_id"] for row in board(client, address=address)] == ["alice", "bob"]


def test_an_environment_of_a_name_space_has_its_board(client: Client, arena: Arena) -> None:
    arena.cart_pole.env_id = "ALE/Pong-v5"
    arena.cart_pole.save()
    for address in ("/leaderboard/ALE/Pong-v5", "/leaderboard/ALE/Pong-v5/", "/leaderboard/ALE%2FPong-v5"):
        assert [row["env_id"] for row in board(client, address=address)] == ["ALE/Pong-v5"] * 2


def test_self_reported_scores_come_after_verified_ones_however_high(client: Client, arena: Arena) -> None:
    rows = board(client)
    assert [(row["rank"], row["medal"], row["verified"]) for row in rows] == [(1, "gold", True), (2, None, False)]
    assert rows[1]["score"] == 500.0


def test_rank_and_medal_are_those_of_the_whole_board(client: Client, arena: Arena) -> None:
    for number in range(3):
        scored.evaluation(scored.submission(arena.cast.charlie, arena.cart_pole, f"low-{number}"), [float(number)] * 20)
    assert [(row["rank"], row["medal"]) for row in board(client, "?user=charlie")] == [
        (2, "silver"), (3, "bronze"), (4, None),
    ]  # fmt: skip
    assert board(client, "?sort=date_desc")[0]["user_id"] == "bob"
    assert board(client, "?sort=date_desc")[0]["medal"] is None


@pytest.mark.parametrize(
    ("query", "users"),
    [
        ("?limit=1", ["alice"]),
        ("?user=AL", ["alice"]),
        ("?user=", ["alice", "bob"]),
        ("?algorithm=ppo", ["bob"]),
        ("?score_min=499.5", ["bob"]),
        ("?score_max=499.5", ["alice"]),
        ("?date_from=2026-03-01&date_to=2026-03-01", ["alice", "bob"]),
        ("?date_from=2026-03-02", []),
        ("?date_to=2026-02-28", []),
        ("?sort=date_asc", ["alice", "bob"]),
        ("?sort=date_desc", ["bob", "alice"]),
        ("?verified=true", ["alice"]),
        ("?verified=false", ["bob"]),
        ("?env_id=", ["alice", "bob"]),
        ("?utm_source=x", ["alice", "bob"]),
    ],
)
def test_filters_and_sorts(client: Client, arena: Arena, query: str, users: list[str]) -> None:
    assert [row["user_id"] for row in board(client, query)] == users


def test_part_of_an_id_finds_its_row(client: Client, arena: Arena) -> None:
    wanted = str(arena.reported.submission.public_id)
    assert [row["id"] for row in board(client, f"?id_query={wanted[4:18]}")] == [wanted]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=ten", "limit"),
        ("limit=1e3", "limit"),
        ("score_min=high", "score_min"),
        ("score_min=NaN", "score_min"),
        ("score_max=Infinity", "score_max"),
        ("score_max=1e999", "score_max"),
        ("date_from=yesterday", "date_from"),
        ("date_from=2026-02-30", "date_from"),
        ("date_to=9999-12-31", "date_to"),
        ("sort=random", "sort"),
        ("user=%00", "user"),
        ("algorithm=" + "x" * 101, "algorithm"),
        ("verified=perhaps", "verified"),
    ],
)
def test_a_bad_value_is_named(client: Client, arena: Arena, query: str, field: str) -> None:
    for address in (BOARD, "/leaderboard/CartPole-v1"):
        response = client.get(f"{address}?{query}")
        assert (response.status_code, list(response.json())) == (400, [field])


@pytest.mark.parametrize("env_id", ["Nowhere-v0", "tic-tac-toe", "cartpole-v1", "%00", "x" * 2000])
def test_an_unknown_environment_is_not_a_board(client: Client, arena: Arena, env_id: str) -> None:
    for address in (f"{BOARD}?env_id={env_id}", f"/leaderboard/{env_id}"):
        response = client.get(address)
        assert response.status_code == 400
        assert "GET /api/leaderboard/environments lists all boards." in response.json()["detail"]


@pytest.mark.parametrize("address", [BOARD, "/leaderboard/CartPole-v1"])
def test_a_mistake_of_the_arena_is_answered_in_json_at_every_address(
    client: Client, arena: Arena, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("web.api.compatible.views.board_page")
    client.raise_request_exception = False
    response = client.get(address)
    assert (response.status_code, response.json()) == (
        500, {"detail": "The arena failed. The error is in its log."},
    )  # fmt: skip


def test_the_environments_with_a_board(client: Client, arena: Arena) -> None:
    for address in ("/api/leaderboard/environments", "/api/leaderboard/environments/"):
        assert client.get(address).json() == {"envs": ["CartPole-v1"]}


def test_a_board_takes_as_many_queries_for_many_rows_as_for_few(client: Client, arena: Arena) -> None:
    with CaptureQueriesContext(connection) as few:
        board(client)
    for number in range(20):
        scored.evaluation(
            scored.submission(arena.cast.charlie, arena.cart_pole, f"more-{number}"), [float(number)] * 20
        )
    with CaptureQueriesContext(connection) as many:
        assert len(board(client)) == 22
    assert len(many) <= len(few)
    assert not any(f'"{column}"' in query["sql"] for query in many for column in ("log", "metrics"))
