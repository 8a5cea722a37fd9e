"""A client of an older system against the whole arena: it submits, waits, and finds its score on the board."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from core.tests import factories
from tests.samples import BALANCING, archive, deliver_messages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
TRAIN = b"""
import json, sys
import player  # the helper, whatever it is called: this is not a player
from agent import SCORE
print(sys.argv[1])
print(json.dumps({"score": SCORE, "metrics": [1, 2]}))
"""
FAILING = b"print('about to fail')\nraise SystemExit('no luck')\n"


@pytest.fixture
def client(settings: Settings, sandbox: str) -> Client:
    settings.ANONYMOUS_SUBMISSIONS = True
    settings.SCRIPT_REQUIREMENTS = []
    row = factories.environment("cart-pole")
    row.matches_per_validation = 1
    row.save()
    row.seed_lists.filter(purpose="RANKING").update(seeds=[11, 12])
    cache.clear()
    return Client()


def submit(client: Client, **form: Any) -> dict[str, Any]:
    """Submit, let the workers work, and ask for the result."""
    response = client.post("/api/submit/", form)
    assert response.status_code == 200, response.content
    submitted = response.json()["id"]
    assert client.get(f"/api/results/{submitted}").json()["status"] == "pending"
    deliver_messages(drawing=False)
    result: dict[str, Any] = client.get(f"/api/results/{submitted}").json()
    return result


def file(name: str, content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def test_scripts_and_players_come_to_the_board(client: Client) -> None:
    files = [file("train.py", TRAIN), file("player.py", b"\n"), file("agent.py", b"SCORE = 432.5\n")]
    reported = submit(client, files=files, main_file="train.py", user_id="ada", algorithm="PPO")
    assert (reported["status"], reported["score"], reported["error"]) == ("completed", 432.5, None)

    played = submit(client, file=archive(BALANCING), user_id="grace")
    assert played["status"] == "completed", played

    failed = submit(client, file=file("run.py", FAILING))
    assert (failed["status"], failed["score"]) == ("failed", None)
    assert "no luck" in failed["error"]

    board = client.get("/api/leaderboard/").json()
    assert [(row["rank"], row["user_id"], row["verified"]) for row in board] == [(1, "grace", True), (2, "ada", False)]
    assert [row["score"] for row in board] == [played["score"], 432.5]
