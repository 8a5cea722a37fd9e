"""The second factor, with the codes that an app would show."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client, TestCase
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import AuditEntry, Letter, Notice, User
from core.people import second_factor
from core.people.second_factor_selectors import has_second_factor, recovery_code_count
from core.people.tokens import token_create
from core.sealing import opened
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from web.conftest import As
from web.people.adapters import SESSION_HASH
from web.people.tests.told import told
from web.tests.house import reset_link

pytestmark = pytest.mark.django_db
PAGE, LOGIN, CODE, ADMIN = "/profile/second-factor/", "/login/", "/login/code/", "/admin/"
APP, CODES, NEW_CODES, REMOVE = f"{PAGE}app/", f"{PAGE}codes/", f"{PAGE}codes/new/", f"{PAGE}app/remove/"
AGAIN, AGAIN_BY_CODE = "/profile/again/", "/profile/again/code/"
WRONG = "000000"
RECOVERY_CODES = 10


@pytest.fixture(autouse=True)
def wrong_codes_cost_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_factor, "LONGEST_WAIT", 0)


def code_of(secret: str, steps: int = 0) -> str:
    """What an app with this key shows now, or so many half minutes later."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))


def code(app: Authenticator, steps: int = 0) -> str:
    return code_of(opened(app.data["secret"]), steps)


def enrolled(user: User) -> tuple[Authenticator, list[str]]:
    return factories.second_factor(user)


def give_password(client: Client, user: User, wanted: str = "") -> Any:
    return client.post(LOGIN, {"username": user.email, "password": PASSWORD, "next": wanted})


def logged_in(user: User) -> Client:
    """A browser in which a person has just given the password."""
    client = Client()
    assert give_password(client, user).status_code == 302
    return client


def is_logged_in(client: Client) -> bool:
    return client.get("/inbox/").status_code == 200


def set_up(client: Client) -> Any:
    """Turn an app on, as its page says; return the page after it."""
    secret = client.get(APP).context["form"].secret
    return client.post(APP, {"code": code_of(secret)}, follow=True)


def test_an_organiser_sets_it_up_and_is_given_recovery_codes_once(cast: Cast) -> None:
    client = logged_in(cast.olga)
    assert "Set it up" in client.get(PAGE).content.decode()

    shown = client.get(APP)
    page, secret = shown.content.decode(), shown.context["form"].secret
    assert secret in page.replace(" ", "")
    # A picture without styles, as the policy wants it.
    (picture,) = re.findall(r'<svg[^>]*class="qr".*?</svg>', page, re.DOTALL)
    assert "style" not in picture
    assert not has_second_factor(cast.olga)
    assert "This was not accepted" in client.post(APP, {"code": WRONG}).content.decode()

    answer = client.post(APP, {"code": code_of(secret)}, follow=True)

    codes = re.findall(r"(?:>|^)(\d{8})$", answer.content.decode(), re.MULTILINE)
    assert len(codes) == RECOVERY_CODES
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["log_in", "set_up_second_factor"]
    assert "no-store" in answer["Cache-Control"]
    # This session has shown its factor; no page shows the codes again.
    assert "You have 10 recovery codes left" in client.get(PAGE).content.decode()
    later = client.get(CODES).content.decode()
    assert "were shown once" in later
    assert not any(one in later for one in codes)


def test_the_password_alone_opens_nothing(cast: Cast) -> None:
    app, _ = enrolled(cast.olga)
    client = Client()

    assert give_password(client, cast.olga, ADMIN)["Location"] == CODE
    assert not is_logged_in(client)
    assert client.get(ADMIN).status_code == 302
    assert client.post(CODE, {"code": WRONG}).status_code == 200
    assert not is_logged_in(client)
    entry = AuditEntry.objects.get()
    assert (entry.operator, entry.action, entry.object_name) == ("unknown", "log_in_failed", "olga")

    assert client.post(CODE, {"code": code(app)})["Location"] == ADMIN
    assert client.get(ADMIN).status_code == 200


def test_a_code_is_good_once_whatever_process_sees_it(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = enrolled(cast.olga)
    # Without Redis, no process knows what the others keep in their caches.
    monkeypatch.setattr("allauth.mfa.totp.internal.auth.TOTP._mark_code_used", lambda *_: True)
    shown, next_one = code(app), code(app, 1)
    clients = [logged_in(cast.olga) for _ in range(4)]
    for client, typed in zip(clients, (shown, next_one, shown, next_one), strict=True):
        client.post(CODE, {"code": typed})
    assert [is_logged_in(client) for client in clients] == [True, True, False, False]


def test_a_recovery_code_opens_the_account_once(cast: Cast) -> None:
    _, codes = enrolled(cast.olga)
    for expected in (True, False):
        client = logged_in(cast.olga)
        client.post(CODE, {"code": f" {codes[0][:4]} {codes[0][4:]} "})
        assert is_logged_in(client) is expected
    assert recovery_code_count(cast.olga) == RECOVERY_CODES - 1


def test_many_wrong_codes_have_to_wait_and_recovery_codes_do_not(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_factor, "LONGEST_WAIT", 1000)
    app, codes = enrolled(cast.olga)
    Authenticator.objects.filter(pk=app.pk).update(data={**app.data, "failures": 10, "failed_at": time.time()})
    client = logged_in(cast.olga)

    page = client.post(CODE, {"code": code(app)}).content.decode()

    assert re.search(r"Too many wrong codes were tried\. Wait \d+ s", page)
    client.post(CODE, {"code": codes[0]})
    assert is_logged_in(client)


def test_wrong_codes_are_counted_for_pages_and_programs_together(cast: Cast, client: Client) -> None:
    app, _ = enrolled(cast.olga)
    waiting = logged_in(cast.olga)
    waiting.post(CODE, {"code": WRONG})
    sent = {"email": cast.olga.email, "password": PASSWORD, "code": WRONG}
    client.post("/api/v1/tokens/", sent, content_type="application/json")
    app.refresh_from_db()
    assert app.data["failures"] == 2
    waiting.post(CODE, {"code": code(app)})
    app.refresh_from_db()
    assert app.data["failures"] == 0


@pytest.mark.parametrize("event", ["a new password", "ten minutes", "a closed account", "another session"])
def test_what_waits_for_a_code_ends_with(cast: Cast, event: str) -> None:
    app, _ = enrolled(cast.olga)
    client = logged_in(cast.olga)
    session = client.session
    match event:
        case "a new password":
            cast.olga.set_password("another-long-one")
            cast.olga.save()
        case "a closed account":
            User.objects.filter(pk=cast.olga.pk).update(is_active=False)
        case "ten minutes":
            session["account_login"] = {**session["account_login"], "initiated_at": time.time() - 601}
            session.save()
        case _:
            del session[SESSION_HASH]
            session.save()

    assert client.post(CODE, {"code": code(app)})["Location"] == LOGIN
    assert not is_logged_in(client)


def test_a_session_from_before_is_asked_for_the_code(cast: Cast, visit: As) -> None:
    app, _ = enrolled(cast.olga)
    old = visit(cast.olga)

    assert old.get("/admin/core/user/?q=a")["Location"] == (
        f"{AGAIN_BY_CODE}?{urlencode({'next': '/admin/core/user/?q=a'})}"
    )
    # The password alone does not let it set up, remove or read a factor.
    for address in (PAGE, APP, REMOVE, NEW_CODES, AGAIN):
        assert old.get(address)["Location"].startswith(AGAIN_BY_CODE)
    assert old.get("/api/v1/me/").status_code == 403
    assert old.post(AGAIN_BY_CODE, {"code": code(app), "next": ADMIN})["Location"] == ADMIN
    assert old.get(ADMIN).status_code == 200


def test_the_code_never_leads_to_another_site(cast: Cast, visit: As) -> None:
    app, _ = enrolled(cast.olga)
    client = Client()
    give_password(client, cast.olga, "https://evil.example/")
    assert client.post(CODE, {"code": code(app)})["Location"] == "/"
    old = visit(cast.olga)
    assert old.post(AGAIN_BY_CODE, {"code": code(app, 1), "next": "//evil.example/"})["Location"] == "/"


def test_where_it_is_required_an_organiser_without_it_can_only_set_it_up(
    cast: Cast, visit: As, settings: Settings
) -> None:
    settings.REQUIRE_STAFF_TOTP = True
    client = logged_in(cast.olga)
    for address in (ADMIN, "/", "/profile/", "/profile/delete/"):
        answer = client.get(address, follow=True)
        assert answer.redirect_chain[-1][0] == PAGE
        assert "Organisers of this site need a second factor." in answer.text
    set_up(client)
    assert client.get(ADMIN).status_code == 200
    assert "Organisers of this site need" not in client.get(PAGE).text
    # Others are not concerned.
    assert visit(cast.alice).get("/profile/").status_code == 200
    assert visit(cast.alice).get(PAGE).status_code == 200


def test_everybody_may_have_a_second_factor(cast: Cast) -> None:
    client = logged_in(cast.alice)
    assert f'href="{PAGE}"' in client.get("/profile/").content.decode()
    with TestCase.captureOnCommitCallbacks(execute=True):
        set_up(client)
    assert has_second_factor(cast.alice)
    assert told(cast.alice) == ["An authenticator app was added to your account"]
    fresh = Client()
    assert give_password(fresh, cast.alice)["Location"] == CODE
    assert not is_logged_in(fresh)


def test_an_old_session_asks_for_the_password_before_it_sets_one_up(cast: Cast, visit: As) -> None:
    client = visit(cast.alice)
    assert client.get(APP)["Location"].startswith(AGAIN)
    assert "This is not your password" in client.post(AGAIN, {"password": "guess", "next": APP}).content.decode()
    assert client.get(APP).status_code == 302
    assert client.post(AGAIN, {"password": PASSWORD, "next": APP})["Location"] == APP
    assert client.get(APP).status_code == 200


def test_recovery_codes_are_renewed_and_the_factor_is_removed_only_after_a_code(cast: Cast, settings: Settings) -> None:
    app, old = enrolled(cast.alice)
    client = logged_in(cast.alice)
    client.post(CODE, {"code": code(app)})

    with TestCase.captureOnCommitCallbacks(execute=True):
        page = client.post(NEW_CODES, follow=True).content.decode()
    new = re.findall(r"(?:>|^)(\d{8})$", page, re.MULTILINE)
    assert len(new) == RECOVERY_CODES
    assert not set(old) & set(new)

    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = -1
    for address in (NEW_CODES, REMOVE):
        assert client.post(address)["Location"].startswith(AGAIN_BY_CODE)
    # The password does not do instead.
    assert client.get(AGAIN)["Location"].startswith(AGAIN_BY_CODE)
    client.post(AGAIN_BY_CODE, {"code": WRONG})
    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 900
    client.post(AGAIN_BY_CODE, {"code": new[0]})
    with TestCase.captureOnCommitCallbacks(execute=True):
        client.post(REMOVE)
    assert told(cast.alice)[-2:] == [
        "New recovery codes were made for your account",
        "An authenticator app was removed from your account",
    ]
    assert not Authenticator.objects.filter(user=cast.alice).exists()
    assert is_logged_in(client)
    entries = AuditEntry.objects.order_by("pk").values_list("channel", "operator", "action")
    assert list(entries) == [("SITE", "alice", one) for one in ("renew_recovery_codes", "remove_second_factor")]


def test_an_organiser_helps_another_who_has_lost_everything(cast: Cast, visit: As) -> None:
    app, _ = enrolled(cast.alice)
    olga = visit(cast.olga)
    page = olga.get(reverse("admin:mfa_authenticator_change", args=[app.pk])).content.decode()
    assert opened(app.data["secret"]) not in page
    olga.post(reverse("admin:mfa_authenticator_delete", args=[app.pk]), {"post": "yes"})
    assert not Authenticator.objects.exists()
    # The password alone would open the account from now on, and its thief may be waiting.
    assert give_password(Client(), cast.alice).status_code == 200
    assert [(one.kind, one.email) for one in Letter.objects.all()] == [("PASSWORD_RESET", cast.alice.email)]
    assert opened(app.data["secret"]) not in str(list(AuditEntry.objects.values()))


def test_a_token_of_the_api_needs_the_code_too(cast: Cast, client: Client) -> None:
    app, _ = enrolled(cast.olga)
    sent = {"email": cast.olga.email, "password": PASSWORD}
    statuses = [
        client.post("/api/v1/tokens/", {**sent, **more}, content_type="application/json").status_code
        for more in ({}, {"code": WRONG}, {"code": code(app)}, {"code": code(app)})
    ]
    assert statuses == [401, 401, 201, 401]
    entries = AuditEntry.objects.order_by("pk").values_list("channel", "operator", "action", "note")
    without, wrong = (("API", "unknown", "log_in_failed", note) for note in ("Without a code.", "Wrong code."))
    assert list(entries) == [without, wrong, ("API", "olga", "make_token", ""), wrong]


def test_no_token_is_made_by_the_password_alone_while_the_factor_is_being_set_up(
    cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(**fields: Any) -> Any:
        # It waits for the set-up, which holds the account.
        enrolled(cast.olga)
        return token_create(**fields)

    monkeypatch.setattr("web.people.token_api.token_create", later)
    sent = {"email": cast.olga.email, "password": PASSWORD}
    answer = client.post("/api/v1/tokens/", sent, content_type="application/json")
    assert (answer.status_code, "has just changed" in answer.json()["detail"]) == (400, True)
    assert not cast.olga.api_tokens.exists()


def test_tokens_of_organisers_without_it_are_refused_where_it_is_required(
    cast: Cast, client: Client, settings: Settings
) -> None:
    _, token = token_create(owner=cast.olga, name="old", now=timezone.now(), days=1)
    assert status_with(token) == 200
    settings.REQUIRE_STAFF_TOTP = True
    assert status_with(token) == 401


def test_setting_it_up_revokes_tokens_that_the_password_alone_has_made(cast: Cast) -> None:
    _, old = token_create(owner=cast.olga, name="old", now=timezone.now(), days=1)
    _, other = token_create(owner=cast.alice, name="other", now=timezone.now(), days=1)
    client = logged_in(cast.olga)
    assert "Keep my API tokens" in client.get(APP).content.decode()
    client.post(APP, {"code": WRONG})
    assert status_with(old) == 200

    with TestCase.captureOnCommitCallbacks(execute=True):
        set_up(client)
    assert "Your API tokens (1) are revoked." in Notice.objects.filter(user=cast.olga)[0].text

    cast.olga.refresh_from_db()
    _, new = token_create(owner=cast.olga, name="new", now=timezone.now(), days=1)
    client.post(NEW_CODES, {"keep_tokens": "on"})
    assert [status_with(token) for token in (old, other, new)] == [401, 200, 200]


def status_with(token: str) -> int:
    return Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_new_password_by_mail_does_not_get_around_it(cast: Cast) -> None:
    enrolled(cast.olga)
    client = Client()
    address = client.get(reset_link(cast.olga), follow=True).redirect_chain[-1][0]
    client.post(address, {"new_password1": "another-long-one", "new_password2": "another-long-one"})
    client.post(LOGIN, {"username": cast.olga.email, "password": "another-long-one"})
    assert not is_logged_in(client)
    assert client.get(CODE).status_code == 200


def test_a_password_that_is_set_too_late_is_in_no_session(cast: Cast, visit: As) -> None:
    factories.second_factor(cast.alice)
    cast.alice.set_unusable_password()
    cast.alice.save()
    client = visit(cast.alice)
    page = client.post(
        "/profile/password/set/", {"new_password1": "quite-another-one", "new_password2": "x"}, follow=True
    )
    assert page.redirect_chain[-1][0].startswith("/profile/again/")
    assert "quite-another-one" not in str(dict(client.session))
