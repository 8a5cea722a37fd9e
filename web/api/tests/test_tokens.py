"""The life of a token, and rate limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from rest_framework.throttling import SimpleRateThrottle

from core.cache.redis import Outage
from core.errors import Refused
from core.models import ApiToken
from core.models.user import ANONYMOUS_EMAIL
from core.people import tokens
from core.people.services import anonymous_ensure, user_create
from core.people.tokens import MAX_TOKENS, token_create, token_digest
from core.tests.factories import PASSWORD, Cast
from web.api.authentication import BAD_HEADER, BAD_TOKEN, HOW_TO_GET_ONE
from web.api.tests.conftest import Program

pytestmark = pytest.mark.django_db
TOKENS, ME = "/api/v1/tokens/", "/api/v1/me/"
ALICE = {"email": "Alice@Arena.example", "password": PASSWORD}


def log_in(client: Client, **fields: Any) -> Any:
    return client.post(TOKENS, {**ALICE, **fields}, content_type="application/json")


def me(token: str, scheme: str = "Bearer") -> Any:
    return Client().get(ME, headers={"Authorization": f"{scheme} {token}"})


def test_a_token_is_made_used_and_revoked(cast: Cast, client: Client) -> None:
    made = log_in(client, name="laptop", days=7)
    assert (made.status_code, made["Cache-Control"]) == (201, "no-store")
    answer = made.json()
    token, row = answer["token"], ApiToken.objects.get()
    assert (row.owner, row.name, row.digest) == (cast.alice, "laptop", token_digest(token))
    assert token.startswith(row.hint)
    assert token not in str(vars(row))
    assert row.expires_at is not None
    assert timedelta(days=6, hours=23) < row.expires_at - timezone.now() <= timedelta(days=7)
    for scheme in ("Bearer", "bearer", "Token"):
        assert me(token, scheme).json()["username"] == "alice"
    row.refresh_from_db()
    assert row.last_used_at is not None
    listed = Client().get(TOKENS, headers={"Authorization": f"Bearer {token}"}).json()
    assert [(one["name"], "token" in one) for one in listed] == [("laptop", False)]
    address = f"{TOKENS}{row.pk}/"
    assert Client().delete(address, headers={"Authorization": f"Bearer {token}"}).status_code == 204
    assert (me(token).status_code, me(token).json()) == (401, {"detail": BAD_TOKEN})


def test_a_token_ends_with_its_time_and_with_its_account(cast: Cast) -> None:
    now = timezone.now()
    _, expired = token_create(owner=cast.alice, name="old", now=now - timedelta(days=2), days=1)
    _, longest = token_create(owner=cast.alice, name="longest", now=now - timedelta(days=364), days=365)
    assert [me(token).status_code for token in (expired, longest)] == [401, 200]
    cast.alice.is_active = False
    cast.alice.save()
    assert me(longest).status_code == 401


def test_people_cannot_revoke_another_s_token(cast: Cast, program: Program) -> None:
    row, token = token_create(owner=cast.alice, name="mine", now=timezone.now(), days=1)
    for person, status in ((None, 401), (cast.bob, 404), (cast.olga, 404)):
        assert program(person).delete(f"{TOKENS}{row.pk}/").status_code == status
    assert me(token).status_code == 200


def test_there_is_an_end_to_how_many(cast: Cast) -> None:
    now = timezone.now()
    token_create(owner=cast.alice, name="expired", now=now - timedelta(days=2), days=1)
    for number in range(MAX_TOKENS):
        token_create(owner=cast.alice, name=str(number), now=now, days=1)
    with pytest.raises(Refused, match="Revoke one first"):
        token_create(owner=cast.alice, name="more", now=now, days=1)
    response = log_in(Client())
    assert (response.status_code, "Revoke one first" in response.json()["detail"]) == (400, True)


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Bearer a b", "Bearer \xff\xfe", "Bearer a\tb", "Token", "Bearer \x00"]
)
def test_a_malformed_header_is_explained(cast: Cast, header: str) -> None:
    response = Client().get(ME, HTTP_AUTHORIZATION=header)
    assert (response.status_code, response.json()) == (401, {"detail": BAD_HEADER})


def test_a_wrong_token_is_refused_where_none_is_needed(cast: Cast) -> None:
    response = Client().get("/api/v1/agents/", headers={"Authorization": "Bearer arena_nothing"})
    assert (response.status_code, response.json()) == (401, {"detail": BAD_TOKEN})


def test_without_one_it_is_said_how_to_get_one(client: Client, cast: Cast) -> None:
    for address in (ME, TOKENS):
        assert (client.get(address).status_code, client.get(address).json()) == (401, {"detail": HOW_TO_GET_ONE})


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"password": "wrong"}, 401),
        ({"email": "nobody@arena.example"}, 401),
        ({"email": ANONYMOUS_EMAIL, "password": ""}, 400),
        ({"email": ANONYMOUS_EMAIL, "password": "!"}, 401),
        ({"email": "\x00"}, 400),
        ({"email": "\ud800"}, 400),
        ({"days": 0}, 400),
        ({"days": 366}, 400),
        ({"days": None}, 400),
        ({"days": 10**30}, 400),
        ({"name": "x" * 51}, 400),
    ],
)
def test_what_is_wrong_makes_no_token(cast: Cast, client: Client, fields: dict[str, Any], status: int) -> None:
    anonymous_ensure()
    assert log_in(client, **fields).status_code == status
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("body", [b"[]", b"7", b"{", b"[" * 100_000, b'{"days": NaN}', b"\xff"])
def test_a_body_that_is_no_object_is_refused(cast: Cast, client: Client, body: bytes) -> None:
    response = client.post(TOKENS, body, content_type="application/json")
    assert response.status_code == 400


def test_a_huge_body_is_not_read(cast: Cast, client: Client, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    response = log_in(client, name="x" * 200)
    assert (response.status_code, response.json()) == (
        400,
        {"detail": "The request is too large for this address."},
    )


def rates(monkeypatch: pytest.MonkeyPatch, **wanted: str) -> None:
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {**SimpleRateThrottle.THROTTLE_RATES, **wanted})


def test_who_asks_too_often_is_told_when_to_come_back(
    cast: Cast, client: Client, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, stranger="2/minute", account="3/minute")
    alice, bob = program(cast.alice), program(cast.bob)
    assert [client.get("/api/v1/agents/").status_code for _ in range(3)] == [200, 200, 429]
    assert [alice.get("/api/v1/agents/").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert bob.get("/api/v1/agents/").status_code == 200
    response = alice.get("/api/v1/agents/")
    assert 0 < int(response["Retry-After"]) <= 60
    said = response.json()
    assert said["code"] == "too_many_requests"
    assert said["detail"].startswith("You have sent too many requests. Please try again in ")
    assert said["detail"].endswith("The limit “account” is 3 in a minute.")
    assert client.get("/health").status_code != 429


def test_an_address_cannot_be_chosen_freely(cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, stranger="1/minute")
    answers = [client.get("/api/v1/agents/", headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]


def test_passwords_are_not_tried_for_long(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, login="2/minute", login_account="3/hour")
    tries = [
        Client(REMOTE_ADDR=f"192.0.2.{n}").post(TOKENS, {**ALICE, "password": "x"}, content_type="application/json")
        for n in range(4)
    ]
    assert [response.status_code for response in tries] == [401, 401, 401, 429]
    cache.clear()
    others = [log_in(Client(), email=f"{n}@arena.example") for n in range(3)]
    assert [response.status_code for response in others] == [401, 401, 429]


def test_uploads_have_a_limit_of_their_own(cast: Cast, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, upload="1/hour")
    alice = program(cast.alice)
    assert [alice.post("/api/submit/").status_code for _ in range(2)] == [400, 429]
    assert alice.get("/api/v1/agents/").status_code == 200


def test_a_redis_that_is_down_stops_no_request(
    cast: Cast, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, stranger="2/minute")
    monkeypatch.setattr("core.cache.redis.SteadyRedisCache.outage", Outage())
    down = {"BACKEND": "core.cache.redis.SteadyRedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": down, "answers": down}
    assert [client.get("/api/v1/agents/").status_code for _ in range(3)] == [200, 200, 429]


def test_the_anonymous_account_belongs_to_no_person(db: None) -> None:
    for fields in (
        {"email": "a@arena.example", "username": "Anonymous"},
        # Full-width letters, which are stored as ordinary ones.
        {"email": "a@arena.example", "username": "\uff21nonymous"},
        {"email": ANONYMOUS_EMAIL.upper(), "username": "ada"},
    ):
        with pytest.raises(Refused):
            user_create(**fields, password=PASSWORD)
    assert anonymous_ensure() == anonymous_ensure()


def test_a_token_lives_thirty_days_unless_it_is_said_otherwise(cast: Cast, client: Client) -> None:
    log_in(client)
    assert ApiToken.objects.get().expires_at - timezone.now() < timedelta(days=30, minutes=1)


def test_the_use_of_a_token_is_noted_with_time_and_place_from_time_to_time(cast: Cast) -> None:
    now = timezone.now()
    row, token = token_create(owner=cast.alice, name="t", now=now, days=365)
    for at, noted in (
        (now, now),
        (now + timedelta(minutes=4), now),
        (now + timedelta(minutes=6), now + timedelta(minutes=6)),
    ):
        assert tokens.token_find(token, now=at, address=f"192.0.2.{at.minute}") == row
        row.refresh_from_db()
        assert (row.last_used_at, row.last_used_address) == (noted, f"192.0.2.{noted.minute}")
    Client(REMOTE_ADDR="198.51.100.7").get(ME, headers={"Authorization": f"Bearer {token}"})
    row.refresh_from_db()
    assert row.last_used_address == f"192.0.2.{noted.minute}"
    with time_machine.travel(timezone.now() + timedelta(hours=1)):
        Client(REMOTE_ADDR="198.51.100.7").get(ME, headers={"Authorization": f"Bearer {token}"})
    row.refresh_from_db()
    assert row.last_used_address == "198.51.100.7"
