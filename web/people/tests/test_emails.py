"""E-mails are confirmed before anything is mailed to them, and links go through the outbox."""

from __future__ import annotations

import re
from datetime import timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Permission
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import ApiToken, Letter, Notice, NoticeKind, User
from core.notices.mails import mails_send
from core.notices.outbox import MAX_ATTEMPTS
from core.notices.services import notify
from core.people.emails import email_address_ensure
from core.people.services import user_create
from core.people.tokens import token_create
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
NEW = {"email": "dora@arena.example", "username": "dora", "password1": PASSWORD, "password2": PASSWORD}
ADMIN_FORM = {"username": "alice", "team": "Blue"}
AGAIN = {"email": "alice@arena.example", "action_send": "1"}
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
    assert "is confirmed" in stranger.post(link, follow=True).content.decode()
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


def test_a_new_account_has_its_address_before_login_and_worker_look_for_it() -> None:
    """Both would make the row, and one in vain: the address would be in the error that PostgreSQL logs."""
    user = user_create(email="Dora@arena.example", username="dora", password=PASSWORD)
    row = EmailAddress.objects.get(user=user)
    assert (row.email, row.primary, row.verified) == ("dora@arena.example", True, False)


@pytest.mark.parametrize("spoil", ["another e-mail", "an old link", "a forged link", "a closed account", "a used link"])
def test_a_link_confirms_only_the_address_that_it_was_sent_to(
    cast: Cast, client: Client, settings: Settings, visit: As, spoil: str
) -> None:
    User.objects.update(email_confirmed_at=None)
    row = email_address_ensure(user=cast.alice)
    EmailAddress.objects.update(verified=False)
    key = EmailConfirmationHMAC(row).key
    match spoil:
        case "another e-mail":
            visit(cast.olga).post(f"/organise/people/{cast.alice.pk}/profile/", {**ADMIN_FORM, "email": "x@y.example"})
        case "an old link":
            settings.ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = -1
        case "a forged link":
            key = f"{key[:-2]}xx"
        case "a used link":
            client.post(f"/confirm/{key}/")
            User.objects.update(email_confirmed_at=None)
        case _:
            User.objects.filter(pk=cast.alice.pk).update(is_active=False)
    client.post(f"/confirm/{key}/")
    assert not User.objects.exclude(email_confirmed_at=None).exists()
    if spoil != "a closed account":
        assert client.get(f"/confirm/{key}/").status_code == 404


def test_a_used_link_leads_on_who_has_confirmed_the_address(cast: Cast, client: Client, visit: As) -> None:
    User.objects.update(email_confirmed_at=None)
    row = email_address_ensure(user=cast.alice)
    EmailAddress.objects.update(verified=False)
    link = f"/confirm/{EmailConfirmationHMAC(row).key}/"
    client.post(link)
    for reader, page in ((client, "/login/"), (visit(cast.alice), "/")):
        answer = reader.get(link, follow=True)
        assert answer.redirect_chain[-1][0] == page
        assert "Your e-mail address is confirmed." in answer.content.decode()


def test_the_request_to_confirm_can_be_put_off_and_is_not_on_the_page_of_the_link(cast: Cast, visit: As) -> None:
    User.objects.update(email_confirmed_at=None)
    row = email_address_ensure(user=cast.alice)
    EmailAddress.objects.update(verified=False)
    alice, link = visit(cast.alice), f"/confirm/{EmailConfirmationHMAC(row).key}/"
    assert BANNER in alice.get("/play/").content.decode()
    assert BANNER not in alice.get(link).content.decode()
    later = {"email": cast.alice.email, "action_later": "1"}
    assert alice.post("/profile/email/", {**later, "next": "//elsewhere.example/"})["Location"] == "/"
    assert alice.post("/profile/email/", {**later, "next": "/play/"})["Location"] == "/play/"
    assert BANNER not in alice.get("/play/").content.decode()
    assert Letter.objects.count() == 0


def test_the_link_is_sent_again_for_the_asking_but_one_is_enough(cast: Cast, visit: As) -> None:
    User.objects.update(email_confirmed_at=None)
    alice = visit(cast.alice)
    for _ in range(3):
        assert alice.post("/profile/email/", AGAIN).status_code == 302
    mails_send()
    assert [message.to for message in mail.outbox] == [[cast.alice.email]]
    alice.post(link_in(str(mail.outbox[0].body)))
    alice.post("/profile/email/", AGAIN)
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
    page = f"/organise/people/{cast.alice.pk}/profile/"
    assert olga.post(page, ADMIN_FORM | {"email": "new@arena.example"}).status_code == 302
    cast.alice.refresh_from_db()
    assert (cast.alice.email, cast.alice.must_confirm_email) == ("new@arena.example", True)
    letters = {(letter.kind, letter.email) for letter in Letter.objects.all()}
    assert letters == {("CONFIRM_EMAIL", "new@arena.example"), ("EMAIL_CHANGED", "alice@arena.example")}


def test_an_organiser_gives_no_new_address_to_an_account_with_a_second_factor(cast: Cast, visit: As) -> None:
    """The owner of that mailbox could remove the factor by a new password, which superusers alone may do."""
    Authenticator.objects.create(user=cast.alice, type=Authenticator.Type.TOTP, data={})
    helper = factories.user("helper", is_staff=True)
    helper.user_permissions.add(*Permission.objects.filter(codename__in=("view_user", "change_user")))
    page, sent = f"/organise/people/{cast.alice.pk}/profile/", ADMIN_FORM | {"email": "new@arena.example"}
    assert visit(helper).post(page, sent).status_code == 422
    cast.alice.refresh_from_db()
    assert (cast.alice.email, cast.alice.must_confirm_email) == ("alice@arena.example", False)
    assert visit(cast.olga).post(page, sent).status_code == 302
    cast.alice.refresh_from_db()
    assert cast.alice.email == "new@arena.example", "a superuser may"

    # The address of an account without one is theirs to correct.
    mend = {"username": "bob", "team": "Blue", "email": "mended@arena.example"}
    assert visit(helper).post(f"/organise/people/{cast.bob.pk}/profile/", mend).status_code == 302
    cast.bob.refresh_from_db()
    assert cast.bob.email == "mended@arena.example"


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


def log_in(user: User) -> Client:
    client = Client()
    client.post("/login/", {"username": user.email, "password": PASSWORD})
    return client


def ask_for(client: Client, email: str) -> Any:
    return client.post("/profile/email/", {"email": email, "action_add": "1"})


def test_a_new_address_counts_once_its_link_was_opened(cast: Cast, client: Client) -> None:
    alice = log_in(cast.alice)
    assert ask_for(alice, "New@Arena.example").status_code == 302
    assert "becomes new@arena.example" in alice.get("/profile/email/").content.decode()
    cast.alice.refresh_from_db()
    assert cast.alice.email == "alice@arena.example"
    mails_send()
    (letter,) = mail.outbox
    assert letter.to == ["new@arena.example"]
    assert "<strong>alice</strong> is to have this address" in Client().get(link_in(str(letter.body))).content.decode()

    client.post(link_in(str(letter.body)))

    cast.alice.refresh_from_db()
    assert (cast.alice.email, cast.alice.must_confirm_email) == ("new@arena.example", False)
    assert list(EmailAddress.objects.values_list("email", "verified")) == [("new@arena.example", True)]
    assert is_logged_in(log_in(cast.alice))
    # The old address hears of it, and not where the account has gone.
    mails_send()
    (word,) = [message for message in mail.outbox if message.to == ["alice@arena.example"]]
    assert "another e-mail address now" in str(word.body)
    assert "new@" not in str(word.body)
    assert not Letter.objects.exists()


def test_an_old_address_that_was_never_confirmed_is_not_told_either(cast: Cast, client: Client) -> None:
    User.objects.update(email_confirmed_at=None)
    ask_for(log_in(cast.alice), "new@arena.example")
    mails_send()
    client.post(link_in(str(mail.outbox[0].body)))
    cast.alice.refresh_from_db()
    assert cast.alice.email == "new@arena.example"
    mails_send()
    assert {address for message in mail.outbox for address in message.to} == {"new@arena.example"}


def is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_a_change_can_be_taken_back_and_the_old_link_is_worth_nothing(cast: Cast, client: Client) -> None:
    alice = log_in(cast.alice)
    ask_for(alice, "new@arena.example")
    mails_send()
    alice.post("/profile/email/", {"email": "new@arena.example", "action_remove": "1"})
    assert client.post(link_in(str(mail.outbox[0].body))).status_code == 404
    cast.alice.refresh_from_db()
    assert cast.alice.email == "alice@arena.example"


def test_an_open_session_alone_changes_no_address(cast: Cast, visit: As) -> None:
    assert ask_for(visit(cast.alice), "thief@arena.example")["Location"].startswith("/profile/again/")
    assert not EmailAddress.objects.filter(email="thief@arena.example").exists()


def test_who_asks_for_an_address_does_not_learn_whether_it_has_an_account_and_does_not_get_it(
    cast: Cast, client: Client
) -> None:
    said = []
    for email in (cast.bob.email, "free@arena.example"):
        alice = log_in(cast.alice)
        ask_for(alice, email)
        said.append(alice.get("/profile/email/").content.decode().replace(email, "it"))
    assert [page.count("becomes it") for page in said] == [1, 1]

    # The owner of the mailbox opens the link.
    ask_for(log_in(cast.alice), cast.bob.email)
    mails_send()
    to_bob = [message for message in mail.outbox if message.to == [cast.bob.email]]
    page = client.post(link_in(str(to_bob[-1].body)), follow=True).content.decode()
    assert "belongs to another account" in page
    cast.alice.refresh_from_db()
    assert cast.alice.email == "alice@arena.example"
    assert is_logged_in(log_in(cast.bob))


def test_who_takes_a_mailbox_in_advance_is_put_out_by_its_owner(cast: Cast, client: Client) -> None:
    """A stranger signs up with a foreign address, and leaves ways in for the day on which its owner comes."""
    User.objects.filter(pk=cast.alice.pk).update(email_confirmed_at=None)
    stranger = log_in(cast.alice)
    SocialAccount.objects.create(user=cast.alice, provider="github", uid="1", extra_data={})
    for factor in Authenticator.Type:
        Authenticator.objects.create(user=cast.alice, type=factor, data={})
    token_create(owner=cast.alice, name="later", now=timezone.now(), days=365)

    client.post("/password-reset/", {"email": cast.alice.email})
    mails_send()
    address = client.get(link_in(str(mail.outbox[0].body)), follow=True).redirect_chain[-1][0]
    client.post(address, {"new_password1": "quite-another-one", "new_password2": "quite-another-one"})

    assert stranger.get("/profile/").status_code == 302
    for kind in (SocialAccount, Authenticator, ApiToken):
        assert not kind.objects.exists()
    client.post("/login/", {"username": cast.alice.email, "password": "quite-another-one"})
    assert is_logged_in(client), "no code is asked for that only the stranger has"


def test_the_owner_of_a_taken_address_is_led_to_a_new_password(cast: Cast, client: Client) -> None:
    assert "choose a new password" not in client.get("/sign-up/").content.decode()
    page = client.post("/sign-up/", NEW | {"email": cast.alice.email}).content.decode()
    assert 'If the address is yours and the account is not, <a href="/password-reset/">choose a new password' in page
    for wrong in ("dora", "dora@arena"):
        page = client.post("/sign-up/", NEW | {"email": wrong}).content.decode()
        assert 'id="id_email_error"' in page
        assert "choose a new password" not in page, "no account has this address"


def test_the_link_that_confirms_names_the_account_and_the_way_for_people_who_did_not_open_it(client: Client) -> None:
    client.post("/sign-up/", NEW)
    mails_send()
    page = Client().get(link_in(str(mail.outbox[0].body))).content.decode()
    assert "The account <strong>dora</strong> was opened with this address" in page
    assert 'href="/password-reset/"' in page
    # The mailbox alone removes nothing from an organiser's account.
    User.objects.filter(username="dora").update(is_staff=True)
    page = Client().get(link_in(str(mail.outbox[0].body))).content.decode()
    assert "If it is not yours, do not confirm." in page
    assert "everything that opened it before" not in page


def test_a_confirmed_account_keeps_its_ways_in_when_its_password_is_reset(cast: Cast, client: Client) -> None:
    SocialAccount.objects.create(user=cast.alice, provider="github", uid="1", extra_data={})
    Authenticator.objects.create(user=cast.alice, type=Authenticator.Type.TOTP, data={})
    client.post("/password-reset/", {"email": cast.alice.email})
    mails_send()
    address = client.get(link_in(str(mail.outbox[0].body)), follow=True).redirect_chain[-1][0]
    client.post(address, {"new_password1": "quite-another-one", "new_password2": "quite-another-one"})
    assert SocialAccount.objects.exists()
    assert Authenticator.objects.exists()


@pytest.mark.parametrize("email", ["free@arena.example", "bob@arena.example"])
def test_an_address_becomes_the_accounts_by_its_link_alone(cast: Cast, email: str) -> None:
    """django-allauth lets accounts that have confirmed none choose any address, and fails where it is taken."""
    User.objects.filter(pk=cast.alice.pk).update(email_confirmed_at=None)
    alice = log_in(cast.alice)
    for given in (
        {"email": email, "action_add": "1"},
        {"email": email, "action_primary": "1"},
        {"email": cast.alice.email, "action_remove": "1"},
    ):
        assert alice.post("/profile/email/", given).status_code == 302
        cast.alice.refresh_from_db()
        assert cast.alice.email == "alice@arena.example"


def test_an_address_that_was_mistyped_at_the_sign_up_opens_the_account_until_the_new_one_is_confirmed(
    cast: Cast, client: Client
) -> None:
    User.objects.update(email_confirmed_at=None)
    for person in (cast.alice, cast.bob):
        ask_for(log_in(person), f"first-{person.email}")
        ask_for(log_in(person), f"new-{person.email}")
    mails_send()
    to = [message.to[0] for message in mail.outbox]
    assert sorted(to) == ["new-alice@arena.example", "new-bob@arena.example"], "an earlier wish is forgotten"
    page = log_in(cast.alice).get("/profile/email/").content.decode()
    assert "Your address is alice@arena.example, which is not confirmed yet" in page
    assert "becomes new-alice@arena.example" in page
    for message in mail.outbox:
        client.post(link_in(str(message.body)))
    cast.alice.refresh_from_db()
    assert (cast.alice.email, cast.alice.must_confirm_email) == ("new-alice@arena.example", False)
    assert [row.email for row in EmailAddress.objects.filter(user=cast.alice)] == ["new-alice@arena.example"]


def test_the_mailbox_alone_does_not_remove_the_second_factor_of_an_organiser(cast: Cast, client: Client) -> None:
    """An organiser whom createsuperuser has made has confirmed no address."""
    User.objects.filter(pk=cast.olga.pk).update(email_confirmed_at=None)
    Authenticator.objects.create(user=cast.olga, type=Authenticator.Type.WEBAUTHN, data={})
    client.post("/password-reset/", {"email": cast.olga.email})
    mails_send()
    address = client.get(link_in(str(mail.outbox[0].body)), follow=True).redirect_chain[-1][0]
    client.post(address, {"new_password1": "quite-another-one", "new_password2": "quite-another-one"})
    assert Authenticator.objects.filter(user=cast.olga).exists()
    thief = Client()
    thief.post("/login/", {"username": cast.olga.email, "password": "quite-another-one"})
    assert not is_logged_in(thief)
