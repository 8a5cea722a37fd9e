"""What clients of the older leaderboards and polling programs do: forms, names, limits, rates, and asking again."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.throttling import SimpleRateThrottle

from core.models import Agent, Environment, Submission
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from tests.samples import FIRST, zip_of
from web.api.tests.conftest import Program

pytestmark = pytest.mark.django_db
FREE = "100000/minute"


def rates(monkeypatch: pytest.MonkeyPatch, **wanted: str) -> None:
    all_free = dict.fromkeys(SimpleRateThrottle.THROTTLE_RATES, FREE)
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {**all_free, **wanted})


@pytest.mark.parametrize("kind", ["multipart/form-data", "application/x-www-form-urlencoded", "application/json"])
def test_a_token_is_made_by_an_ordinary_form_post(cast: Cast, client: Client, kind: str) -> None:
    sent = {"email": cast.alice.email, "password": PASSWORD, "name": "curl"}
    match kind:
        case "multipart/form-data":
            answer = client.post("/api/v1/tokens/", sent)
        case "application/json":
            answer = client.post("/api/v1/tokens/", sent, kind)
        case _:
            body = f"email={cast.alice.email}&password={PASSWORD}&name=curl"
            answer = client.post("/api/v1/tokens/", body, kind)
    assert answer.status_code == 201, answer.content
    assert answer.json()["name"] == "curl"


@pytest.mark.parametrize(
    ("words", "user"),
    [
        ({"name": "ada"}, "ada"),
        ({"user_id": "bob", "name": "ada"}, "bob"),
        ({"user_id": "bob"}, "bob"),
        ({}, "anonymous"),
    ],
)
def test_name_is_another_word_for_user_id(
    cart_pole: Environment, open_to_all: None, client: Client, words: dict[str, str], user: str
) -> None:
    script = SimpleUploadedFile("submission.py", b"print('hello')")
    answer = client.post("/api/submit/", {"file": script, "env_id": cart_pole.env_id, **words})
    assert answer.status_code == 200, answer.content
    assert Submission.objects.get(public_id=answer.json()["id"]).user_label == user


@pytest.mark.parametrize(("limit", "status"), [(1, 200), (100, 200), (500, 200), (501, 400), (0, 400)])
def test_boards_have_up_to_500_rows(cart_pole: Environment, client: Client, limit: int, status: int) -> None:
    assert client.get(f"/api/leaderboard/?env_id={cart_pole.env_id}&limit={limit}").status_code == status
    assert client.get(f"/leaderboard/{cart_pole.env_id}?limit={limit}").status_code == status


@pytest.mark.parametrize(
    "address",
    ["/api/schema", "/api/leaderboard/?env_id=CartPole-v1&limit=3", "/api/v1/environments/", "/api/v1/agents/",
     "/api/v1/environments/cart-pole/board/?page_size=3", "/api/v1/duels/?page_size=7", "/api/v1/applications/"],
)  # fmt: skip
def test_who_asks_again_gets_304(cart_pole: Environment, cast: Cast, program: Program, address: str) -> None:
    for client in (Client(), program(cast.alice)):
        first = client.get(address)
        assert (first.status_code, bool(first["ETag"])) == (200, True)
        again = client.get(address, headers={"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert client.get(address, headers={"If-None-Match": '"other"'}).content == first.content


def test_an_agent_names_its_newest_version_and_the_one_that_plays(cast: Cast, program: Program) -> None:
    agent = factories.agent(cast.alice, factories.environment(), "anna")
    client = program(cast.alice)

    def shown() -> list[Any]:
        one, listed = client.get(f"/api/v1/agents/{agent.pk}/").json(), client.get("/api/v1/agents/").json()["results"]
        assert listed == [one]
        return [one[name] for name in ("latest_submission", "active_submission", "latest_number")]

    assert shown() == [None, None, None]
    plays = factories.ready(agent)
    assert shown() == [plays.pk, plays.pk, 1]
    newest = factories.submission(agent)
    assert shown() == [newest.pk, plays.pk, 2]


def test_equal_files_again_are_no_new_version(cast: Cast, program: Program) -> None:
    factories.environment()
    client = program(cast.alice)

    def sent(address: str, source: str, **words: str) -> Any:
        archive = SimpleUploadedFile("a.zip", zip_of(source))
        return client.post(address, {"archive": archive, **words})

    words = {"environment": "tic-tac-toe", "name": "anna"}
    first, second = (sent("/api/v1/agents/", FIRST, **words) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    versions = f"/api/v1/agents/{Agent.objects.get(name='anna').pk}/submissions/"
    assert [sent(versions, source).status_code for source in (FIRST, FIRST + "#", FIRST + "#")] == [200, 201, 200]


def test_crawlers_find_the_environments(client: Client) -> None:
    slug = factories.environment().slug
    answer = client.get("/sitemap.xml")
    assert answer["Content-Type"] == "application/xml"
    assert f"<loc>http://testserver/environments/{slug}/</loc>" in answer.content.decode()
    assert "Sitemap: http://testserver/sitemap.xml" in client.get("/robots.txt").content.decode()


# --- Rates -------------------------------------------------------------------------------------------------


def test_polling_has_a_limit_of_its_own(
    cart_pole: Environment, cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, stranger="1/minute", account="1/minute", poll="3/minute")
    address = f"/api/results/{uuid.uuid4()}"
    for client in (Client(), program(cast.alice)):
        assert [client.get(address).status_code for _ in range(4)] == [404, 404, 404, 429]
        refused = client.get(address)
        assert 0 < int(refused["Retry-After"]) <= 60
        assert "“poll” is 3 in a minute" in refused.json()["detail"]
        assert client.get("/api/v1/agents/").status_code == 200, "polling has used nothing of the other limit"


def test_a_refusal_of_one_limit_uses_nothing_of_another(
    cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, account="4/minute", upload="1/hour")
    alice = program(cast.alice)
    refused = [alice.post("/api/submit/") for _ in range(6)]
    assert [answer.status_code for answer in refused] == [400, *[429] * 5]
    assert "“upload” is 1 in an hour" in refused[-1].json()["detail"]
    assert int(refused[-1]["Retry-After"]) > 3000
    assert [alice.get("/api/v1/agents/").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_wrong_tokens_use_nothing_of_their_neighbours(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, stranger="2/minute", bad_token="2/minute")
    wrong = Client(headers={"Authorization": "Bearer nonsense"})
    answers = [wrong.get("/api/v1/agents/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert (answers[-1].json()["code"], bool(answers[-1]["Retry-After"])) == ("too_many_requests", True)
    assert client.get("/api/v1/agents/").status_code == 200
