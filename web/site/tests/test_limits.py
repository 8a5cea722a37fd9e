"""How often one may try passwords, sign up, ask for a new password and upload; and what one is told."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.redis import RedisCache
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings
from rest_framework.throttling import SimpleRateThrottle

from core.notices.mails import mails_send
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.factories import Cast
from core.tests.organising import act
from tests.samples import FIRST, archive
from web.conftest import As
from web.site.numbers import duration
from web.site.requests import client_network
from web.site.throttling import SignUpThrottle

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("midday")]
WRONG = {"password": "wrong"}
TOKENS = "/api/v1/tokens/"
FREE = "100000/minute"


@pytest.fixture(autouse=True)
def only_what_a_test_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, **dict.fromkeys(SimpleRateThrottle.THROTTLE_RATES, FREE))


def rates(monkeypatch: pytest.MonkeyPatch, **wanted: str) -> None:
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {**SimpleRateThrottle.THROTTLE_RATES, **wanted})


def at(address: str) -> Client:
    return Client(REMOTE_ADDR=address)


# --- Guesses of passwords ----------------------------------------------------------------------------------


# --- Bans in the admin -------------------------------------------------------------------------------------


def test_an_organiser_bans_and_lets_in_again(cast: Cast) -> None:
    organiser = Client()
    organiser.force_login(cast.olga)
    assert act(organiser, "ban", cast.charlie, reason="Uploads viruses.") == ["charlie is banned."]
    cast.charlie.refresh_from_db()
    assert (cast.charlie.is_active, cast.charlie.ban_reason) == (False, "Uploads viruses.")
    assert act(organiser, "ban", cast.olga, reason="x") == ["olga: nothing was done. You cannot ban yourself."]
    assert act(organiser, "unban", cast.charlie) == ["charlie may take part again."]
    cast.charlie.refresh_from_db()
    assert cast.charlie.is_active


# --- Pages -------------------------------------------------------------------------------------------------


def test_signing_up_is_limited_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, sign_up="2/hour")
    answers = [at("192.0.2.1").post("/sign-up/", {}).status_code for _ in range(3)]
    page = at("192.0.2.1").post("/sign-up/", {})
    assert answers == [200, 200, 429]
    assert 3500 < int(page["Retry-After"]) <= 3600
    assert "Too many accounts have been created from your address. Please try again in" in page.content.decode()
    assert at("192.0.2.1").get("/sign-up/").status_code == 200
    assert at("192.0.2.2").post("/sign-up/", {}).status_code == 200


def test_no_mailbox_is_filled(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, password_reset="2/hour")
    for number in range(4):
        at(f"192.0.2.{number}").post("/password-reset/", {"email": " " * number + cast.alice.email})
        mails_send()
    assert len(mail.outbox) == 2


def test_uploads_by_page_and_by_api_count_together(cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch) -> None:
    factories.environment()
    rates(monkeypatch, upload="2/hour")
    client = visit(cast.alice)
    page = "/environments/tic-tac-toe/agents/"
    assert client.post(page, {}).status_code == 422
    assert client.post("/api/v1/agents/", {}).status_code in (400, 403)
    answer = client.post(page, {})
    assert answer.status_code == 429
    assert "You have uploaded too often." in answer.content.decode()
    assert int(answer["Retry-After"]) > 0


@pytest.mark.slow
def test_an_upload_above_the_quota_is_told_what_is_left_and_when(cast: Cast, visit: As, settings: Settings) -> None:
    factories.environment()
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 1, "active_agents": 4, "storage_bytes": 10_000}
    client = visit(cast.alice)
    address = "/environments/tic-tac-toe/agents/"
    assert client.post(address, {"name": "one", "archive": archive(FIRST)}).status_code == 302

    page = client.post(address, {"name": "two", "archive": archive(FIRST + "#")})

    assert page.status_code == 429
    assert 0 < int(page["Retry-After"]) <= 24 * 3600
    text = page.content.decode()
    assert "Daily submission quota exceeded" in text
    for sentence in ("Your upload quotas", "<dd>none of 1 left", "<dd>3 of 4 left</dd>", "at 00:00 UTC, in "):
        assert sentence in text
    for other in (f"{address}one/", "/profile/"):
        assert "3 of 4 left" in client.get(other).content.decode()
    assert "3 of 4 left" not in visit(cast.bob).get(f"{address}one/").content.decode()


def test_a_form_knows_how_large_an_upload_may_be(cast: Cast, visit: As) -> None:
    environment = factories.environment()
    environment.quota_upload_bytes = 2 * 2**20
    environment.save()
    text = visit(cast.alice).get("/environments/tic-tac-toe/write/").content.decode()
    assert 'data-max-bytes="2097152"' in text
    assert "larger than 2 MiB" in text


@pytest.mark.slow
def test_who_plays_is_changed_so_often_and_no_more_by_page_and_by_api(
    cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = factories.agent(cast.alice, factories.environment(), "anna")
    factories.ready(versions)
    rates(monkeypatch, changes="10/hour")
    page, twin = "/environments/tic-tac-toe/agents/anna/", f"/api/v1/agents/{versions.pk}/rest/"
    cup, named = factories.planned(versions.environment), {"agent": versions.pk}
    cups, twins = "/environments/tic-tac-toe/editions/1/", f"/api/v1/tournaments/{cup.pk}/registrations/"
    client = visit(cast.alice)
    ways = [("post", f"{page}rest/"), ("post", f"{page}play/"), ("put", twin), ("delete", twin),
            ("post", f"{page}versions/1/activate/"), ("post", f"{page}versions/1/bench/"),
            ("post", f"{cups}register/"), ("post", f"{cups}withdraw/"),
            ("post", twins), ("delete", f"{twins}{versions.pk}/")]  # fmt: skip

    def change(method: str, path: str) -> Any:
        kind = {"content_type": "application/json"} if path.startswith("/api/") else {}
        return getattr(client, method)(path, named, **kind)

    taken = [302, 302, 200, 200, 302, 302, 302, 302, 201, 204]
    assert [change(*way).status_code for way in ways] == taken

    answers = [change(*way) for way in ways]

    assert {answer.status_code for answer in answers} == {429}
    assert all(3500 < int(answer["Retry-After"]) <= 3600 for answer in answers)
    assert "You have changed too often which of your agents and versions play, or where. Please try again in" in str(
        answers[0].content.decode()
    )
    versions.refresh_from_db()
    assert not versions.is_resting
    assert not cup.registrations.exists()
    # Looking is free, and other clients are not limited.
    assert (client.get(page).status_code, client.get(twins).status_code) == (200, 200)
    assert visit(cast.olga).post(f"{page}rest/").status_code == 302


def test_matches_are_not_played_again_without_end(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, replay="4/minute", results="2/minute")
    counted = {
        "match": ("duels/7/matches/1/", "validations/7/matches/1/", "evaluations/7/episodes/best/"),
        "frames": ("duels/7/matches/1/frames.json", "validations/7/matches/1/frames.json"),
        "episode": ("evaluations/7/episodes/best/frames.json",),
        "duel": ("duels/7/results.json.gz", "duels/7/records.zip"),
    }
    visitor = at("192.0.2.1")
    # Counted before the view looks whether there is such a match.
    assert [visitor.get(f"/{path}").status_code for path in (*counted["match"], *counted["duel"])] == [404] * 5
    assert visitor.options("/duels/7/matches/2/").status_code == 404
    pages = [visitor.head(f"/{path}") for kind in counted for path in counted[kind]]
    assert {(page.status_code, "Retry-After" in page) for page in pages} == {(429, True)}
    page = visitor.get("/duels/7/matches/3/").content.decode()
    assert "You have opened too many matches in a short time. Please try again in" in page
    # As the viewer reads it.
    answer = visitor.get("/duels/7/matches/3/frames.json")
    assert answer.json()["error"].startswith("You have opened too many matches")
    # The page of the duel, and other people, are not concerned.
    assert visitor.get("/duels/7/").headers.get("Retry-After") is None
    visitor.force_login(cast.alice)
    assert visitor.get("/duels/7/matches/3/").status_code == 404


def test_trajectories_of_whole_batches_count_with_results(monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, results="2/minute")
    visitor, address = at("192.0.2.1"), "/api/v1/batches/{}/export/"
    paths = ["/duels/7/records.zip", *(address.format(UUID(int=number)) for number in (1, 2))]
    assert [visitor.get(path).status_code for path in paths] == [404, 404, 429]
    assert visitor.get(f"/batches/{UUID(int=1)}/").headers.get("Retry-After") is None


# --- How it is counted -------------------------------------------------------------------------------------


def request(address: str = "192.0.2.1", forwarded: str = "") -> Any:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    return RequestFactory(REMOTE_ADDR=address).post("/sign-up/", headers=headers)


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "expected"),
    [
        (0, "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        (1, "10.0.0.1", "203.0.113.9", "203.0.113.9"),
        (1, "10.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"),
        (2, "10.0.0.1", "1.2.3.4, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        (1, "10.0.0.1", "", "10.0.0.1"),
        (1, "10.0.0.1", "<script>", "10.0.0.1"),
        (1, "10.0.0.1", "2001:db8:1:2:3::4", "2001:db8:1:2::"),
        (0, "", "", None),
    ],
)
def test_only_trusted_proxies_say_where_a_client_is(
    settings: Settings, proxies: int, peer: str, forwarded: str, expected: str | None
) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": proxies}
    assert client_network(request(peer, forwarded)) == expected


def test_a_visitor_behind_a_proxy_cannot_choose_another_address_to_guess_from(cast: Cast, settings: Settings) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    answers = [
        Client(REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": f"192.0.2.{number}, 203.0.113.9"})
        .post("/login/", {"username": cast.alice.email, **WRONG})
        .status_code
        for number in range(6)
    ]
    assert answers == [200] * 4 + [429] * 2


def test_what_is_left_is_told_in_headers(cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, account="3/minute")
    client = visit(cast.alice)
    left = [client.get("/api/v1/me/") for _ in range(4)]
    assert [answer["X-RateLimit-Remaining"] for answer in left] == ["2", "1", "0", "0"]
    assert {answer["X-RateLimit-Limit"] for answer in left} == {"3"}
    assert len({answer["X-RateLimit-Reset"] for answer in left}) == 1


def test_who_asks_too_often_is_a_line_of_the_log_once_a_period(
    cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rates(monkeypatch, account="2/minute", password_reset="1/hour")
    client = visit(cast.alice)
    for _ in range(5):
        client.get("/api/v1/me/")
    for number in range(3):
        at(f"198.51.100.{number}").post("/password-reset/", {"email": "someone@example.org"})
    lines = [vars(record) for record in caplog.records if record.message == "limit.reached"]
    shown = [(line["rate"], line["sender"], line["limit"]) for line in lines]
    assert shown == [("account", f"account {cast.alice.pk}", "2/minute"), ("password_reset", "email", "1/hour")]
    assert "someone@" not in caplog.text


def test_of_requests_at_the_same_moment_no_more_pass_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, sign_up="3/hour")
    assert count_at_once(cache) == 3


@pytest.mark.redis
def test_in_redis_either(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, sign_up="3/hour")
    shared = RedisCache(redis_url, {})
    shared.clear()
    assert count_at_once(shared) == 3


def count_at_once(store: BaseCache) -> int:
    SignUpThrottle.cache = store
    try:
        return sum(at_once(*[lambda: SignUpThrottle().allow(request())] * 8))
    finally:
        del SignUpThrottle.cache


def test_durations_are_said_as_people_say_them() -> None:
    assert [duration(seconds) for seconds in (1, 59, 119, 120, 3000, 7199, 7200, 80000)] == [
        "1 second", "59 seconds", "119 seconds", "2 minutes", "50 minutes", "120 minutes", "2 hours", "22 hours",
    ]  # fmt: skip


def test_a_token_that_is_none_has_a_limit_of_its_own(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, stranger="3/minute", bad_token="2/minute")
    headers = {"Authorization": "Bearer arena_guessed"}
    assert at("192.0.2.1").get("/api/v1/agents/").status_code == 200
    given = [at("192.0.2.1").get("/api/v1/agents/", headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in given] == [401, 401, 429]
    assert 0 < int(given[-1]["Retry-After"]) <= 60
    assert at("192.0.2.2").get("/api/v1/agents/", headers=headers).status_code == 401


def test_the_refusal_of_a_program_is_json(cast: Cast) -> None:
    client = at("192.0.2.1")
    for _ in range(6):
        answer = client.post(TOKENS, {"email": cast.alice.email, **WRONG}, content_type="application/json")
    assert set(json.loads(answer.content)) == {"detail", "code"}
