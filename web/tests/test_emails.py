"""E-mails are confirmed before anything is mailed to them, and links go through the outbox."""

from __future__ import annotations

import re
from datetime import timedelta
from smtplib import SMTPServerDisconnected

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client
from django.utils import timezone

from core.models import Letter, Notice, NoticeKind, User
from core.notices import letters
from core.notices.letters import email_token
from core.notices.mails import mails_send
from core.notices.outbox import MAX_ATTEMPTS
from core.notices.services import notify
from core.tests.factories import PASSWORD, Cast
from web.tests.conftest import As

pytestmark = pytest.mark.django_db
NEW = {"email": "dora@arena.example", "username": "dora", "password1": PASSWORD, "password2": PASSWORD}
BANNER = "Confirm your e-mail address. Until you open the link"


def link_in(body: str) -> str:
    found = re.search(r"https?://[^/\s]+(/(?:confirm|password-reset)/\S+)", body)
    assert found is not None
    return found[1]


def tell(user: User) -> None:
    notify(user=user, kind=NoticeKind.QUARANTINE, title="Paused", text="It crashed.")


def test_a_new_account_is_mailed_nothing_but_a_link_until_that_was_opened(client: Client) -> None:
    client.post("/sign-up/", NEW)
    dora = User.objects.get(username="dora")
    assert BANNER in client.get("/").content.decode(), "logging in stays possible"
    tell(dora)
    mails_send()
    (letter,) = mail.outbox
    assert (letter.to, "confirm your address" in letter.subject) == ([dora.email], True)
    assert Notice.objects.get(user=dora).mail_next_at is None

    link, stranger = link_in(str(letter.body)), Client()
    assert dora.email in stranger.get(link).content.decode()
    assert User.objects.get(pk=dora.pk).must_confirm_email, "programs open links, too"
    assert "is confirmed" in stranger.post(link).content.decode()
    assert BANNER not in client.get("/").content.decode()
    dora.refresh_from_db()
    tell(dora)
    mails_send()
    assert len(mail.outbox) == 2


def test_a_mail_that_was_due_is_not_sent_to_an_address_that_is_no_longer_confirmed(cast: Cast) -> None:
    tell(cast.alice)
    User.objects.update(email_confirmed_at=None)
    mails_send()
    assert mail.outbox == []
    assert Notice.objects.get().mail_next_at is None


@pytest.mark.parametrize("spoil", ["another e-mail", "an old link", "a forged link", "a closed account"])
def test_a_link_confirms_only_the_address_that_it_was_sent_to(
    cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    User.objects.update(email_confirmed_at=None)
    token = email_token(cast.alice)
    match spoil:
        case "another e-mail":
            User.objects.filter(pk=cast.alice.pk).update(email="elsewhere@arena.example")
        case "an old link":
            monkeypatch.setattr(letters, "LINK_DAYS", -1)
        case "a forged link":
            token = f"{token[:-2]}xx"
        case _:
            User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    assert client.post(f"/confirm/{token}/").status_code == 404
    assert not User.objects.exclude(email_confirmed_at=None).exists()


def test_the_link_is_sent_again_for_the_asking_but_one_is_enough(cast: Cast, visit: As) -> None:
    User.objects.update(email_confirmed_at=None)
    alice = visit(cast.alice)
    for _ in range(3):
        assert alice.post("/profile/email/").status_code == 302
    mails_send()
    assert [message.to for message in mail.outbox] == [[cast.alice.email]]
    alice.post(link_in(str(mail.outbox[0].body)))
    alice.post("/profile/email/")
    mails_send()
    assert len(mail.outbox) == 1


def test_a_new_password_by_mail_confirms_the_address(cast: Cast, client: Client) -> None:
    User.objects.update(email_confirmed_at=None)
    client.post("/password-reset/", {"email": cast.alice.email})
    mails_send()
    address = client.get(link_in(str(mail.outbox[0].body)), follow=True).redirect_chain[-1][0]
    client.post(address, {"new_password1": "quite-another-one", "new_password2": "quite-another-one"})
    cast.alice.refresh_from_db()
    assert not cast.alice.must_confirm_email


def test_an_address_that_an_organiser_changes_is_confirmed_anew(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    page = f"/admin/core/user/{cast.alice.pk}/change/"
    form = {"email": "new@arena.example", "username": "alice", "team": "Blue"}
    assert olga.post(page, form).status_code == 302
    cast.alice.refresh_from_db()
    assert (cast.alice.email, cast.alice.must_confirm_email) == ("new@arena.example", True)
    assert Letter.objects.get().email == "new@arena.example"


def test_a_letter_waits_for_a_mail_server_that_is_away(
    cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> int:
        raise SMTPServerDisconnected("Connection unexpectedly closed")

    client.post("/password-reset/", {"email": cast.alice.email})
    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", away)
        mails_send()
    row = Letter.objects.get()
    assert (row.mail_attempt, "SMTPServerDisconnected" in row.mail_error) == (1, True)
    assert row.mail_next_at > timezone.now()
    mails_send()
    assert mail.outbox == []
    Letter.objects.update(mail_next_at=timezone.now() - timedelta(seconds=1))
    mails_send()
    assert [message.to for message in mail.outbox] == [[cast.alice.email]]
    assert not Letter.objects.exists()


def test_a_letter_is_given_up_after_two_days(cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> int:
        raise SMTPServerDisconnected("Connection unexpectedly closed")

    monkeypatch.setattr(EmailBackend, "send_messages", away)
    client.post("/password-reset/", {"email": cast.alice.email})
    for _ in range(MAX_ATTEMPTS):
        assert Letter.objects.exists()
        Letter.objects.update(mail_next_at=timezone.now() - timedelta(seconds=1))
        mails_send()
    assert not Letter.objects.exists()
