"""The page of sessions, the ends of sessions, and what an owner learns about logins."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from core.models import AccountEvent, User
from core.operations.retention import retention_apply
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from web.conftest import As
from web.people.devices import device_named
from web.people.tests.shown import just_shown

pytestmark = pytest.mark.django_db
PAGE = "/profile/sessions/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0"


def log_in(person: User, *, address: str = "192.0.2.1", agent: str = FIREFOX, password: str = PASSWORD) -> Client:
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=agent)
    client.post("/login/", {"username": person.email, "password": password})
    return client


def is_open(client: Client) -> bool:
    return client.get("/inbox/").status_code == 200


def test_it_shows_every_session_with_device_place_and_time(cast: Cast) -> None:
    here = log_in(cast.alice)
    log_in(cast.alice, address="198.51.100.7", agent=EDGE)
    log_in(cast.bob, address="203.0.113.9")
    page = here.get(PAGE).content.decode()
    rows = re.findall(r"<strong>([^<]+)</strong>( · this session)?<br>\s*<small class=\"muted\">([^<\s]+)<br>", page)
    assert sorted(rows) == [
        ("Edge on Windows", "", "198.51.100.7"), ("Firefox on Linux", " · this session", "192.0.2.1"),
    ]  # fmt: skip
    assert f'href="{PAGE}"' in here.get("/profile/").content.decode()


def test_one_is_ended_or_all_others_are(cast: Cast) -> None:
    here, there, third = (log_in(cast.alice, address=f"192.0.2.{number}") for number in range(3))
    row = UserSession.objects.get(ip="192.0.2.1")
    assert log_in(cast.bob).post(f"{PAGE}{row.pk}/end/").status_code == 404
    assert is_open(there)
    here.post(f"{PAGE}{row.pk}/end/")
    assert [is_open(one) for one in (here, there, third)] == [True, False, True]
    here.post(f"{PAGE}end/")
    assert [is_open(one) for one in (here, there, third)] == [True, False, False]
    assert UserSession.objects.filter(user=cast.alice).count() == 1
    # This one too.
    here.post(f"{PAGE}{UserSession.objects.get(user=cast.alice).pk}/end/")
    assert not is_open(here)


def test_it_shows_the_last_logins_and_refused_attempts_of_its_owner_alone(cast: Cast) -> None:
    log_in(cast.alice, address="198.51.100.7", password="guess")
    log_in(cast.bob, address="203.0.113.9")
    for _ in range(25):
        AccountEvent.objects.create(user=cast.alice, action="make_token")
    page = log_in(cast.alice).get(PAGE).content.decode()
    done, refused = page.split("Refused attempts")
    assert done.count("Make token") == 19
    assert "<strong>Log in</strong> · password<br>" in done
    assert "<br>Firefox on Linux · 192.0.2.1</small>" in done
    assert "198.51.100.7" in refused
    assert "203.0.113.9" not in page


def test_each_login_and_each_refused_one_is_a_line_of_the_log(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="arena.accounts")
    app, _ = factories.second_factor(cast.bob)
    log_in(cast.alice, password="guess")
    known = log_in(cast.alice)
    waiting = log_in(cast.bob)
    waiting.post("/login/code/", {"code": "000000"})
    Client(REMOTE_ADDR="192.0.2.1").post("/login/", {"username": "nobody@arena.example", "password": "guess"})
    stranger = Client(REMOTE_ADDR="192.0.2.1")
    stranger.post(reverse("account_reset_password"), {"email": cast.alice.email})
    known.post("/logout/")
    found = [
        (one.getMessage(), one.account, one.login_by, one.outcome, one.address)  # type: ignore[attr-defined]
        for one in caplog.records if one.name == "arena.accounts"
    ]  # fmt: skip
    assert found == [
        ("Account: log_in_failed", cast.alice.pk, "password", "refused", "192.0.2.1"),
        ("Account: log_in", cast.alice.pk, "password", "done", "192.0.2.1"),
        ("Account: log_in_failed", cast.bob.pk, "code", "refused", "192.0.2.1"),
        ("Account: log_in_failed", None, "password", "refused", "192.0.2.1"),
        ("Account: ask_for_link", None, "", "done", "192.0.2.1"),
        ("Account: log_out", cast.alice.pk, "", "done", "192.0.2.1"),
    ]
    assert "guess" not in caplog.text
    assert app.user == cast.bob


def test_a_session_ends_two_weeks_after_its_login_however_it_is_used(cast: Cast) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    with time_machine.travel(begin, tick=False):
        client = log_in(cast.alice)
    for day in range(14):
        with time_machine.travel(begin + timedelta(days=day, hours=1), tick=False):
            assert is_open(client)
    with time_machine.travel(begin + timedelta(days=14, minutes=1), tick=False):
        assert not is_open(client)


def test_an_organisers_session_ends_when_it_was_idle_for_twelve_hours(cast: Cast) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    with time_machine.travel(begin, tick=False):
        olga, alice = log_in(cast.olga), log_in(cast.alice)
        assert is_open(olga)
        assert is_open(alice)
    with time_machine.travel(begin + timedelta(hours=11), tick=False):
        assert is_open(olga)
    with time_machine.travel(begin + timedelta(hours=22), tick=False):
        assert is_open(olga)
    with time_machine.travel(begin + timedelta(hours=34, minutes=1), tick=False):
        assert [is_open(olga), is_open(alice)] == [False, True]
        assert not UserSession.objects.filter(user=cast.olga).exists()


def test_the_use_of_a_session_is_noted_from_time_to_time(cast: Cast) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    with time_machine.travel(begin, tick=False):
        client = log_in(cast.alice)
        client.get("/inbox/")
    for minutes, noted in ((4, 0), (6, 6)):
        with time_machine.travel(begin + timedelta(minutes=minutes), tick=False):
            client.get("/inbox/", REMOTE_ADDR="198.51.100.7")
            row = UserSession.objects.get()
            assert row.last_seen_at == begin + timedelta(minutes=noted)
    assert row.ip == "198.51.100.7"


def test_a_member_with_a_factor_is_asked_for_it_in_sessions_from_before(cast: Cast, visit: As) -> None:
    old = visit(cast.alice)
    # As a row from before the rule, which has ended no session.
    Authenticator.objects.bulk_create([Authenticator(user=cast.alice, type=Authenticator.Type.TOTP, data={})])
    for address in ("/profile/", "/inbox/", PAGE, "/profile/tokens/"):
        assert old.get(address)["Location"].startswith("/profile/again/code/")
    assert old.get("/api/v1/me/").status_code == 403
    assert just_shown(cast.alice, "mfa").get("/inbox/").status_code == 200


def test_a_login_ends_the_oldest_of_too_many_sessions(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.people.sessions.MOST", 3)
    clients = [log_in(cast.alice) for _ in range(5)]
    assert [is_open(client) for client in clients] == [False, False, True, True, True]
    assert UserSession.objects.filter(user=cast.alice).count() == 3


def test_a_login_costs_no_more_queries_with_many_sessions(
    cast: Cast, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    log_in(cast.alice)
    with CaptureQueriesContext(connection) as few:
        log_in(cast.alice)
    # Now, because the next request forgets them.
    count = len(few)
    assert count > 0
    for _ in range(20):
        log_in(cast.alice)
    with django_assert_max_num_queries(count):
        log_in(cast.alice)


def test_an_address_that_is_not_known_is_no_error(cast: Cast) -> None:
    client = Client(REMOTE_ADDR="")
    client.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    assert client.get(PAGE).status_code == 200


def test_old_events_and_rows_of_sessions_that_are_over_are_deleted(cast: Cast) -> None:
    log_in(cast.alice)
    now = timezone.now() + timedelta(days=91)
    cleared = {one.what: one.count for one in retention_apply(now=now, dry_run=True)}
    assert cleared["logins and changes of accounts"] == 1
    retention_apply(now=now)
    assert not AccountEvent.objects.exists()
    assert not UserSession.objects.exists()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"), (EDGE, "Edge on Windows"), ("arena-kit/0.1 Python/3.12", "arena-kit/0.1"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari on iPhone"),
        ("", "unknown"), ("<script>" * 30, f"{'<script>' * 5}"),
    ],
)  # fmt: skip
def test_devices_have_names(agent: str, name: str) -> None:
    assert device_named(agent) == name
