"""How often passwords may be tried: by account, by address and all together."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.core import mail
from django.test import Client
from django.utils import timezone
from rest_framework.throttling import SimpleRateThrottle

from core.models import User
from core.notices.mails import mails_send
from core.tests.factories import PASSWORD, Cast
from core.tests.organising import act
from web.conftest import As

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


def log_in(client: Client, person: User, password: str = PASSWORD) -> Any:
    return client.post("/login/", {"username": person.email, "password": password})


def is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def guess(client: Client, person: User, times: int) -> list[int]:
    return [log_in(client, person, f"guess {number}").status_code for number in range(times)]


def test_after_five_wrong_passwords_the_right_one_does_not_open_either(cast: Cast) -> None:
    client = at("192.0.2.1")
    assert guess(client, cast.alice, 5) == [200, 200, 200, 200, 429]

    page = log_in(client, cast.alice)

    assert page.status_code == 429
    assert 14 * 60 < int(page["Retry-After"]) <= 15 * 60
    text = page.content.decode()
    assert "Too many wrong passwords for this account from your address. Please try again in 15 minutes" in text
    assert 'href="/password-reset/"' in text
    assert not is_logged_in(client)


def test_a_guesser_shuts_out_no_other_address(cast: Cast) -> None:
    guess(at("192.0.2.1"), cast.alice, 8)
    home, other = at("198.51.100.7"), at("192.0.2.1")
    assert log_in(home, cast.alice).status_code == 302
    assert log_in(other, cast.bob).status_code == 302, "another account from the same address"


def test_spelling_an_account_otherwise_gives_no_more_guesses(cast: Cast) -> None:
    client = at("192.0.2.1")
    for email in ("alice@arena.example", "ALICE@arena.example", "Alice@Arena.Example") * 2:
        answer = client.post("/login/", {"username": email, **WRONG}, headers={"User-Agent": email})
    assert answer.status_code == 429
    assert log_in(client, cast.alice).status_code == 429


def test_an_account_that_does_not_exist_is_locked_like_any_other(cast: Cast) -> None:
    answers = [
        [at("192.0.2.1").post("/login/", {"username": email, **WRONG}).status_code for _ in range(6)]
        for email in ("alice@arena.example", "nobody@arena.example")
    ]
    assert answers[0] == answers[1] == [200] * 4 + [429] * 2


def test_a_right_password_wipes_the_slate(cast: Cast) -> None:
    client = at("192.0.2.1")
    guess(client, cast.alice, 4)
    log_in(client, cast.alice)
    client.post("/logout/")
    assert guess(client, cast.alice, 4) == [200] * 4


def test_a_lock_ends_by_itself_and_guesses_meanwhile_do_not_make_it_longer(cast: Cast) -> None:
    client = at("192.0.2.1")
    guess(client, cast.alice, 5)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=14, seconds=30))
    page = log_in(client, cast.alice)
    assert 0 < int(page["Retry-After"]) <= 30
    assert "in 1 minute," in page.content.decode()
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    assert log_in(client, cast.alice).status_code == 302


def test_the_way_to_the_admin_and_the_api_s_tokens_count_with_the_site_s(cast: Cast) -> None:
    client = at("192.0.2.1")
    body = {"email": cast.olga.email, **WRONG}
    guess(client, cast.olga, 2)
    for _ in range(2):
        # The admin has no login of its own.
        way = client.get("/admin/", follow=True).redirect_chain[-1][0]
        client.post(way, {"username": cast.olga.email, **WRONG})
    answer = client.post(TOKENS, body, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (429, "application/json")
    assert answer.json()["code"] == "login_locked"
    assert int(answer["Retry-After"]) > 0

    right = {"email": cast.olga.email, "password": PASSWORD}
    assert client.post(TOKENS, right, content_type="application/json").status_code == 429
    assert client.post(way, {"username": cast.olga.email, "password": PASSWORD}).status_code == 429
    assert not is_logged_in(client)


def test_a_token_made_with_the_right_password_wipes_the_slate_as_well(cast: Cast) -> None:
    client = at("192.0.2.1")
    guess(client, cast.alice, 4)
    right = {"email": cast.alice.email, "password": PASSWORD}
    assert client.post(TOKENS, right, content_type="application/json").status_code == 201
    assert not AccessAttempt.objects.exists()


def test_one_address_cannot_spray_passwords_over_accounts(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, login="3/minute", login_day="4/day")
    people = [cast.alice, cast.bob, cast.charlie, cast.olga]
    assert [log_in(at("192.0.2.1"), person, "spring").status_code for person in people] == [200, 200, 200, 429]
    page = log_in(at("192.0.2.1"), cast.olga)
    assert "There were too many password attempts from your address. Please try again in" in page.content.decode()
    assert 0 < int(page["Retry-After"]) <= 60
    assert log_in(at("192.0.2.2"), cast.olga).status_code == 302
    rates(monkeypatch, login=FREE)
    assert log_in(at("192.0.2.1"), cast.olga, "summer").status_code == 200
    assert log_in(at("192.0.2.1"), cast.olga, "autumn").status_code == 429


def test_who_sits_at_an_open_session_does_not_guess_its_password(
    cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, login="2/minute")
    client = visit(cast.olga)
    # The admin has no page of its own for it.
    page = client.get("/admin/password_change/")["Location"]
    assert page == "/profile/password/"
    assert [client.post(page, {"old_password": "guess"}).status_code for _ in range(3)] == [200, 200, 429]


def test_many_addresses_guess_one_password_no_faster_and_its_owner_still_gets_in(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, login_account="6/hour")
    home = at("198.51.100.7")
    assert log_in(home, cast.alice).status_code == 302
    home.post("/logout/")

    tries = [log_in(at(f"192.0.2.{number}"), cast.alice, "guess").status_code for number in range(7)]

    assert tries == [200] * 5 + [429] * 2, "the owner's own login was the first of six"
    assert log_in(home, cast.alice).status_code == 302


def test_however_an_account_is_written_its_guesses_are_counted_together(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, login_account="2/hour")
    email = cast.alice.email
    spellings = [email, f" {email}", f"{email}  ", "\uff41" + email[1:], email.upper()]
    pages = [
        at(f"192.0.2.{number}").post("/login/", {"username": spelling, "email": f"decoy-{number}@x.example", **WRONG})
        for number, spelling in enumerate(spellings)
    ]
    assert [page.status_code for page in pages] == [200, 200, 429, 429, 429]

    rates(monkeypatch, login_account="3/hour")
    answers = [
        at(f"198.51.100.{number}").post(
            TOKENS,
            {"username": f"decoy-{number}@x.example", "email": f"{' ' * number}{cast.bob.email}", **WRONG},
            content_type="application/json",
        )
        for number in range(4)
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]


def test_one_address_cannot_use_up_what_all_together_may_try(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, login_account="8/hour")
    guess(at("192.0.2.1"), cast.alice, 20)
    assert log_in(at("198.51.100.7"), cast.alice).status_code == 302


def test_a_new_password_by_mail_opens_a_locked_login(cast: Cast) -> None:
    client = at("192.0.2.1")
    guess(client, cast.alice, 5)
    client.post("/password-reset/", {"email": cast.alice.email})
    mails_send()
    (link,) = re.findall(r"https?://[^/\s]+(/password-reset/\S+)", str(mail.outbox[0].body))
    form = client.get(link, follow=True)
    new = "another-long-passphrase"
    client.post(form.redirect_chain[-1][0], {"new_password1": new, "new_password2": new})
    assert log_in(client, cast.alice, new).status_code == 302


def test_an_organiser_sees_wrong_passwords_and_unlocks(cast: Cast) -> None:
    guess(at("192.0.2.1"), cast.alice, 5)
    organiser = Client()
    organiser.force_login(cast.olga)
    listed = organiser.get("/admin/axes/accessattempt/").content.decode()
    assert "alice@arena.example" in listed
    assert "192.0.2.1" in listed
    assert "guess 1" not in listed

    assert act(organiser, "unlock_logins", cast.alice) == ["alice can log in again from everywhere."]
    assert log_in(at("192.0.2.1"), cast.alice).status_code == 302


def test_unlocking_also_forgets_the_tries_from_many_addresses(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    rates(monkeypatch, login_account="3/hour")
    for person in (cast.alice, cast.bob):
        tries = [log_in(at(f"192.0.2.{number}"), person, "guess").status_code for number in range(4)]
        assert tries == [200] * 3 + [429]
    # What stands in the database may be gone already.
    AccessAttempt.objects.all().delete()
    organiser = Client()
    organiser.force_login(cast.olga)

    assert act(organiser, "unlock_logins", cast.alice) == ["alice can log in again from everywhere."]

    assert log_in(at("198.51.100.7"), cast.alice).status_code == 302
    assert log_in(at("198.51.100.7"), cast.bob).status_code == 429
    assert act(organiser, "unlock_logins", cast.charlie) == [
        "charlie: nothing was done. No wrong passwords are counted."
    ]


def test_what_is_kept_of_a_wrong_password_is_not_the_password(cast: Cast) -> None:
    guess(at("192.0.2.1"), cast.alice, 1)
    (row,) = AccessAttempt.objects.all()
    assert "guess 0" not in f"{row.post_data} {row.get_data} {row.path_info}"


def test_a_class_behind_one_address_logs_in_while_guessing_stays_slow(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates(monkeypatch, login="10/minute", login_day="300/day", stranger="120/minute")
    password = User.objects.get(pk=cast.alice.pk).password
    pupils = [
        User.objects.create(username=f"pupil{n}", email=f"pupil{n}@school.example", password=password)
        for n in range(60)
    ]
    answers = []
    for pupil in pupils:
        client = at("192.0.2.7")
        client.get("/login/")
        answers.append(log_in(client, pupil).status_code)
        assert is_logged_in(client), pupil
    assert answers == [302] * 60
    # One who guesses among them is stopped after ten tries, however often an account of their own logs in.
    own, guesser = at("192.0.2.7"), at("192.0.2.7")
    tries = []
    for pupil in pupils[:12]:
        own.logout()
        log_in(own, cast.bob)
        tries.append(log_in(guesser, pupil, "guess").status_code)
    assert tries[:10] == [200] * 10
    assert set(tries[10:]) == {429}
