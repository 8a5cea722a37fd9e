"""What organisers do with their own accounts is in the audit log; of other people nothing is."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.core import mail
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from core.models import ApiToken, AuditEntry, User
from core.notices.mails import mails_send
from core.people.tokens import token_create
from core.tests.factories import PASSWORD, Cast
from web.people.tests.shown import just_shown

pytestmark = pytest.mark.django_db
TOKENS = "/api/v1/tokens/"
NEW = "quite-another-passphrase"


def log() -> list[tuple[str, str, str, str]]:
    """(channel, operator, action, what it was done to)."""
    rows = AuditEntry.objects.order_by("pk")
    return [(row.channel, row.operator, row.action, row.object_name) for row in rows]


def log_in(user: User, password: str = PASSWORD) -> Client:
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.post("/login/", {"username": user.email.upper(), "password": password})
    return client


def make_token(user: User, password: str = PASSWORD) -> str:
    form = {"email": user.email, "password": password, "name": "cron"}
    answer = Client(REMOTE_ADDR="192.0.2.1").post(TOKENS, form, content_type="application/json")
    return str(answer.json().get("token", ""))


def change_password(user: User) -> None:
    form = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert log_in(user).post("/profile/password/", form).status_code == 302


def reset_password(user: User) -> None:
    client = Client()
    client.post("/password-reset/", {"email": user.email})
    mails_send()
    (link,) = re.findall(r"https?://[^/\s]+(/password-reset/\S+)", str(mail.outbox[0].body))
    address = client.get(link, follow=True).redirect_chain[-1][0]
    assert client.post(address, {"new_password1": NEW, "new_password2": NEW}).status_code == 302


def change_email(user: User) -> None:
    client, email = log_in(user), f"{user.username}@new.example"
    client.post("/profile/email/", {"email": email, "action_add": "1"})
    mails_send()
    (letter,) = [one for one in mail.outbox if one.to == [email]]
    (link,) = re.findall(r"https?://[^/\s]+(/confirm/\S+)", str(letter.body))
    assert client.post(link).status_code == 302
    user.refresh_from_db()
    assert user.email == email


def tokens_on_the_page(user: User) -> None:
    client = log_in(user)
    client.post("/profile/tokens/", {"name": "laptop", "days": "30", "scope": "api"})
    token = ApiToken.objects.get()
    client.post(f"/profile/tokens/{token.pk}/revoke/")
    client.post(f"/profile/tokens/{token.pk}/revoke/")


def tokens_by_the_api(user: User) -> None:
    headers = {"Authorization": f"Bearer {make_token(user)}"}
    address = f"{TOKENS}{ApiToken.objects.get().pk}/"
    assert Client().delete(address, headers=headers).status_code == 204


LOG_IN = ("SITE", "olga", "log_in", "olga")
DEEDS: list[tuple[Callable[[User], object], list[tuple[str, str, str, str]]]] = [
    (log_in, [LOG_IN]),
    # A wrong password does not tell who tried it.
    (lambda user: log_in(user, "guess"), [("SITE", "unknown", "log_in_failed", "olga")]),
    (lambda user: make_token(user, "guess"), [("SITE", "unknown", "log_in_failed", "olga")]),
    (change_password, [LOG_IN, ("SITE", "olga", "change_password", "olga")]),
    (reset_password, [("SITE", "olga", "change_password", "olga")]),
    (change_email, [LOG_IN, *[("SITE", "olga", "change_email", "olga")] * 2]),
    (tokens_on_the_page, [
        LOG_IN, ("SITE", "olga", "make_token", "laptop"), ("SITE", "olga", "revoke_token", "laptop"),
    ]),
    (tokens_by_the_api, [("API", "olga", "make_token", "cron"), ("API", "olga", "revoke_token", "cron")]),
]  # fmt: skip


@pytest.mark.parametrize(("deed", "expected"), DEEDS)
def test_only_the_accounts_of_organisers_are_watched(
    cast: Cast, deed: Callable[[User], object], expected: list[tuple[str, str, str, str]]
) -> None:
    deed(cast.olga)
    assert log() == expected
    written = str(list(AuditEntry.objects.values()))
    assert not any(secret in written for secret in (PASSWORD, NEW, "guess", "arena_"))
    ApiToken.objects.all().delete()
    mail.outbox.clear()
    deed(cast.alice)
    assert log() == expected


def test_a_failed_login_says_from_where_and_a_locked_account_does_not_fill_the_log(cast: Cast) -> None:
    for _ in range(8):
        log_in(cast.olga, "guess")
    assert log() == [("SITE", "unknown", "log_in_failed", "olga")] * 5
    assert {entry.address for entry in AuditEntry.objects.all()} == {"192.0.2.1"}


def test_nothing_is_done_with_an_organiser_s_account_that_cannot_be_written_down(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, _ = token_create(owner=cast.olga, name="old", now=timezone.now(), days=1)
    client = just_shown(cast.olga)

    def full(**_: object) -> None:
        raise DatabaseError("The disk is full.")

    monkeypatch.setattr("core.people.audit_log.audit_record", full)
    passwords = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    for address, form in (
        ("/profile/tokens/", {"name": "laptop", "days": "30", "scope": "api"}),
        (f"/profile/tokens/{row.pk}/revoke/", {}),
        ("/profile/password/", passwords),
    ):
        with pytest.raises(DatabaseError, match="disk is full"):
            client.post(address, form)
    assert list(ApiToken.objects.all()) == [row]
    cast.olga.refresh_from_db()
    assert cast.olga.check_password(PASSWORD)
