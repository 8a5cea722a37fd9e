"""The second factor, with the codes that an app would show."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from pytest_django.fixtures import Settings

from core.models import AuditEntry, User
from core.people.second_factor import RECOVERY_CODES, second_factor_begin, second_factor_confirm
from core.people.second_factor_selectors import recovery_code_count, second_factor_get
from core.people.tokens import token_create
from core.tests.factories import PASSWORD, Cast
from web.people.second_factor_views import WAITING, WAITING_SECONDS
from web.tests.conftest import As

pytestmark = pytest.mark.django_db
PAGE, LOGIN, CODE, ADMIN = "/profile/second-factor/", "/login/", "/login/code/", "/admin/"
WRONG = "000000"


@pytest.fixture(autouse=True)
def wrong_codes_cost_no_time(settings: Settings) -> None:
    settings.OTP_TOTP_THROTTLE_FACTOR = settings.OTP_STATIC_THROTTLE_FACTOR = 0


def code(device: TOTPDevice, steps: int = 0) -> str:
    """What the app shows now, or so many half minutes later."""
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time() + steps * device.step
    return f"{totp.token():06d}"


def enrolled(user: User) -> tuple[TOTPDevice, list[str]]:
    device, codes = second_factor_confirm(user=user, code=code(second_factor_begin(user=user)))
    # As if it had been long ago: what the app shows now is still to be used.
    TOTPDevice.objects.filter(pk=device.pk).update(last_t=-1, drift=0)
    device.refresh_from_db()
    return device, codes


def give_password(client: Client, user: User, wanted: str = "") -> Any:
    return client.post(LOGIN, {"username": user.email, "password": PASSWORD, "next": wanted})


def is_logged_in(client: Client) -> bool:
    return client.get("/profile/").status_code == 200


def test_an_organiser_sets_it_up_and_is_given_recovery_codes_once(cast: Cast, visit: As) -> None:
    client = visit(cast.olga)
    assert "Set it up" in client.get(PAGE).content.decode()

    page = client.post(PAGE, {"step": "begin"}, follow=True).content.decode()
    device = TOTPDevice.objects.get()
    key = device.config_url.partition("secret=")[2].partition("&")[0]
    assert key in page.replace(" ", "")
    # A picture without styles, as the policy wants it.
    (picture,) = re.findall(r'<svg[^>]*class="qr".*?</svg>', page, re.DOTALL)
    assert "style" not in picture
    assert second_factor_get(cast.olga) is None

    assert client.post(PAGE, {"step": "confirm", "code": WRONG}).status_code == 422
    answer = client.post(PAGE, {"step": "confirm", "code": code(device)})
    codes = list(StaticToken.objects.values_list("token", flat=True))
    assert len(codes) == RECOVERY_CODES
    assert all(one in answer.content.decode() for one in codes)
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["log_in", "set_up_second_factor"]
    assert "no-store" in answer["Cache-Control"]
    # This session has shown its factor; the page shows no code again.
    later = client.get(PAGE).content.decode()
    assert "You have 10 recovery codes left" in later
    assert not any(one in later for one in codes)


def test_the_password_alone_opens_nothing(cast: Cast) -> None:
    device, _ = enrolled(cast.olga)
    client = Client()

    assert give_password(client, cast.olga, ADMIN)["Location"] == CODE
    assert not is_logged_in(client)
    assert client.get(ADMIN).status_code == 302
    assert client.post(CODE, {"code": WRONG}).status_code == 200
    assert not is_logged_in(client)
    entry = AuditEntry.objects.get()
    assert (entry.operator, entry.action, entry.object_name) == ("unknown", "log_in_failed", "olga")

    assert client.post(CODE, {"code": code(device)})["Location"] == ADMIN
    assert client.get(ADMIN).status_code == 200


def test_a_code_is_good_once(cast: Cast) -> None:
    device, _ = enrolled(cast.olga)
    shown = code(device)
    first, second = Client(), Client()
    for client in (first, second):
        give_password(client, cast.olga)
        client.post(CODE, {"code": shown})
    assert (is_logged_in(first), is_logged_in(second)) == (True, False)


def test_a_recovery_code_opens_the_account_once(cast: Cast) -> None:
    _, codes = enrolled(cast.olga)
    for expected in (True, False):
        client = Client()
        give_password(client, cast.olga)
        client.post(CODE, {"code": f" {codes[0].upper()} "})
        assert is_logged_in(client) is expected
    assert recovery_code_count(cast.olga) == RECOVERY_CODES - 1


def test_many_wrong_codes_have_to_wait_and_recovery_codes_do_not(cast: Cast, settings: Settings) -> None:
    settings.OTP_TOTP_THROTTLE_FACTOR = 1000
    device, codes = enrolled(cast.olga)
    client = Client()
    give_password(client, cast.olga)
    client.post(CODE, {"code": WRONG})

    page = client.post(CODE, {"code": code(device)}).content.decode()

    assert re.search(r"Too many wrong codes were tried\. Wait \d+ s", page)
    client.post(CODE, {"code": codes[0]})
    assert is_logged_in(client)


@pytest.mark.parametrize("event", ["a new password", "ten minutes", "a closed account"])
def test_what_waits_for_a_code_ends_with(cast: Cast, event: str) -> None:
    device, _ = enrolled(cast.olga)
    client = Client()
    give_password(client, cast.olga)
    if event == "a new password":
        cast.olga.set_password("another-long-one")
        cast.olga.save()
    elif event == "a closed account":
        User.objects.filter(pk=cast.olga.pk).update(is_active=False)
    else:
        session = client.session
        session[WAITING] = {**session[WAITING], "since": time.time() - WAITING_SECONDS - 1}
        session.save()

    assert client.post(CODE, {"code": code(device)})["Location"] == LOGIN
    assert not is_logged_in(client)


def test_a_session_from_before_is_asked_for_the_code(cast: Cast, visit: As) -> None:
    old = visit(cast.olga)
    device, _ = enrolled(cast.olga)

    assert old.get("/admin/core/user/?q=a")["Location"] == f"{CODE}?next=%2Fadmin%2Fcore%2Fuser%2F%3Fq%3Da"
    assert old.get(PAGE)["Location"] == CODE
    assert old.get("/api/v1/me/").status_code == 403
    key = old.session.session_key
    assert old.post(CODE, {"code": code(device), "next": ADMIN})["Location"] == ADMIN
    assert old.get(ADMIN).status_code == 200
    assert old.session.session_key != key


def test_the_code_never_leads_to_another_site(cast: Cast, visit: As) -> None:
    device, _ = enrolled(cast.olga)
    client = Client()
    give_password(client, cast.olga, "https://evil.example/")
    assert client.post(CODE, {"code": code(device)})["Location"] == "/"
    old = visit(cast.olga)
    assert old.post(CODE, {"code": code(device, 1), "next": "//evil.example/"})["Location"] == "/"


def test_where_it_is_required_an_organiser_without_it_can_only_set_it_up(
    cast: Cast, visit: As, settings: Settings
) -> None:
    settings.REQUIRE_STAFF_TOTP = True
    client = visit(cast.olga)
    for address in (ADMIN, "/", "/profile/"):
        assert client.get(address, follow=True).redirect_chain[-1][0] == PAGE
    client.post(PAGE, {"step": "begin"})
    client.post(PAGE, {"step": "confirm", "code": code(TOTPDevice.objects.get())})
    assert client.get(ADMIN).status_code == 200
    # Others are not concerned.
    assert visit(cast.alice).get("/profile/").status_code == 200
    assert visit(cast.alice).get(PAGE).status_code == 200


def test_everybody_may_have_a_second_factor(cast: Cast, visit: As) -> None:
    client = visit(cast.alice)
    assert f'href="{PAGE}"' in client.get("/profile/").content.decode()
    client.post(PAGE, {"step": "begin"})
    client.post(PAGE, {"step": "confirm", "code": code(TOTPDevice.objects.get())})
    assert second_factor_get(cast.alice) is not None
    fresh = Client()
    assert give_password(fresh, cast.alice)["Location"].startswith("/login/code/")
    assert not is_logged_in(fresh)


def test_recovery_codes_are_renewed_and_the_factor_is_removed_only_with_a_code(cast: Cast) -> None:
    device, old = enrolled(cast.olga)
    client = Client()
    give_password(client, cast.olga)
    client.post(CODE, {"code": code(device)})
    for step in ("renew", "remove"):
        assert client.post(PAGE, {"step": step, "code": WRONG}).status_code == 422

    client.post(PAGE, {"step": "renew", "code": old[0]})
    new = list(StaticToken.objects.values_list("token", flat=True))
    assert len(new) == RECOVERY_CODES
    assert not set(old) & set(new)
    client.post(PAGE, {"step": "remove", "code": new[0]})
    assert second_factor_get(cast.olga) is None
    assert is_logged_in(client)
    entries = AuditEntry.objects.order_by("pk").values_list("channel", "operator", "action")
    actions = ["log_in", "renew_recovery_codes", "remove_second_factor"]
    assert list(entries) == [("SITE", "olga", action) for action in actions]


def test_an_organiser_helps_another_who_has_lost_everything(cast: Cast, visit: As) -> None:
    device, _ = enrolled(cast.alice)
    olga = visit(cast.olga)
    page = olga.get(reverse("admin:otp_totp_totpdevice_change", args=[device.pk])).content.decode()
    assert device.key not in page
    olga.post(reverse("admin:otp_totp_totpdevice_delete", args=[device.pk]), {"post": "yes"})

    client = Client()
    give_password(client, cast.alice)
    assert is_logged_in(client)


def test_a_token_of_the_api_needs_the_code_too(cast: Cast, client: Client) -> None:
    device, _ = enrolled(cast.olga)
    sent = {"email": cast.olga.email, "password": PASSWORD}
    statuses = [
        client.post("/api/v1/tokens/", {**sent, **more}, content_type="application/json").status_code
        for more in ({}, {"code": WRONG}, {"code": code(device)}, {"code": code(device)})
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
    assert client.post("/api/v1/tokens/", sent, content_type="application/json").status_code == 401
    assert not cast.olga.api_tokens.exists()


def test_tokens_of_organisers_without_it_are_refused_where_it_is_required(
    cast: Cast, client: Client, settings: Settings
) -> None:
    _, token = token_create(owner=cast.olga, name="old", now=timezone.now(), days=1)
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/me/", headers=headers).status_code == 200
    settings.REQUIRE_STAFF_TOTP = True
    assert client.get("/api/v1/me/", headers=headers).status_code == 401


def test_setting_it_up_revokes_tokens_that_the_password_alone_has_made(cast: Cast, visit: As) -> None:
    _, old = token_create(owner=cast.olga, name="old", now=timezone.now(), days=1)
    _, other = token_create(owner=cast.alice, name="other", now=timezone.now(), days=1)
    client = visit(cast.olga)
    assert "Setting up a second factor revokes your API tokens" in client.get(PAGE).content.decode()
    client.post(PAGE, {"step": "begin"})
    client.post(PAGE, {"step": "confirm", "code": WRONG})
    assert status_with(old) == 200

    page = client.post(PAGE, {"step": "confirm", "code": code(TOTPDevice.objects.get())}).content.decode()

    assert "Your earlier API tokens are revoked" in page
    _, new = token_create(owner=cast.olga, name="new", now=timezone.now(), days=1)
    codes = client.post(PAGE, {"step": "renew", "code": StaticToken.objects.all()[0].token}).content.decode()
    assert "revoked" not in codes
    assert [status_with(token) for token in (old, other, new)] == [401, 200, 200]


def status_with(token: str) -> int:
    return Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_new_password_by_mail_does_not_get_around_it(cast: Cast) -> None:
    enrolled(cast.olga)
    client = Client()
    link = [urlsafe_base64_encode(force_bytes(cast.olga.pk)), default_token_generator.make_token(cast.olga)]
    form = client.get(reverse("web:password_reset_confirm", args=link), follow=True)
    address = form.redirect_chain[-1][0]
    client.post(address, {"new_password1": "another-long-one", "new_password2": "another-long-one"})
    client.post(LOGIN, {"username": cast.olga.email, "password": "another-long-one"})
    assert not is_logged_in(client)
    assert client.get(CODE).status_code == 200
