"""What happens to passwords and to the sessions that they opened."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.conf import settings as django_settings
from django.contrib.auth.hashers import MD5PasswordHasher, identify_hasher, make_password
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import ErrorMail, LetterKind, Notice, User
from core.moderation.services import user_ban
from core.notices.letters import letter_write
from core.notices.mails import mails_send
from core.people.services import user_create, user_invite
from core.people.tokens import token_create
from core.tests.factories import PASSWORD, Cast
from web.conftest import As
from web.people.tests.told import told

pytestmark = pytest.mark.django_db
NEW = "another-long-one"


@pytest.fixture
def real_hashers(settings: Settings) -> None:
    """As the settings say it; other tests hash quickly."""
    names = ("Argon2", "PBKDF2", "PBKDF2SHA1", "BCryptSHA256", "Scrypt")
    settings.PASSWORD_HASHERS = [f"django.contrib.auth.hashers.{name}PasswordHasher" for name in names]


def test_new_passwords_are_hashed_with_argon2(real_hashers: None) -> None:
    user = user_create(email="dora@arena.example", username="dora", password=PASSWORD)
    assert user.password.startswith("argon2$argon2id$")
    assert user.check_password(PASSWORD)


@pytest.mark.slow
def test_an_older_hash_is_made_anew_at_the_login_with_the_right_password(cast: Cast, real_hashers: None) -> None:
    old = make_password(PASSWORD, hasher="pbkdf2_sha256")
    User.objects.filter(pk=cast.alice.pk).update(password=old)

    Client().post("/login/", {"username": cast.alice.email, "password": "wrong"})
    cast.alice.refresh_from_db()
    assert cast.alice.password == old

    assert Client().post("/login/", {"username": cast.alice.email, "password": PASSWORD}).status_code == 302
    cast.alice.refresh_from_db()
    assert identify_hasher(cast.alice.password).algorithm == "argon2"


def test_a_new_password_ends_other_sessions_and_keeps_tokens_by_a_box(cast: Cast, visit: As, client: Client) -> None:
    here, elsewhere = visit(cast.alice), visit(cast.alice)
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    before = here.cookies[django_settings.SESSION_COOKIE_NAME].value

    form = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW, "keep_tokens": "on"}
    assert "Keep my API tokens" in here.get("/profile/password/").content.decode()
    here.post("/profile/password/", form)

    assert here.get("/profile/").status_code == 200
    assert here.cookies[django_settings.SESSION_COOKIE_NAME].value != before
    assert elsewhere.get("/profile/").status_code == 302
    assert client.get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code == 200


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_a_reset_says_before_and_after_that_tokens_are_revoked(cast: Cast, client: Client, is_confirmed: bool) -> None:
    token_create(owner=cast.alice, name="laptop", now=timezone.now())
    if not is_confirmed:
        User.objects.update(email_confirmed_at=None)
    client.post("/password-reset/", {"email": cast.alice.email})
    mails_send()
    link = re.search(r"/password-reset/\S+", str(mail.outbox[0].body))
    assert link is not None
    page = client.get(link[0], follow=True)
    shown = page.content.decode()
    assert ("Keep my API tokens" in shown, "revokes your API tokens (1)" in shown) == (is_confirmed, not is_confirmed)
    assert "for verification" not in shown, "a sentence of Django's"
    sent = {"new_password1": NEW, "new_password2": "different-as-well"}
    address = page.redirect_chain[-1][0]
    assert "The two passwords are different." in client.post(address, sent).content.decode()
    after = client.post(address, {**sent, "new_password2": NEW}, follow=True).content.decode()
    assert "Your API tokens (1) are revoked." in after


def test_the_owner_is_told_of_a_new_password_and_of_a_new_token(cast: Cast, visit: As) -> None:
    visit(cast.alice).post("/profile/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})
    assert told(cast.alice) == ["Your password was changed"]
    cast.alice.refresh_from_db()
    token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    assert told(cast.alice) == ["Your password was changed", "The API token laptop was created"]
    assert Notice.objects.filter(user=cast.alice, mail_next_at=None).count() == 0
    assert "tell the organisers" in Notice.objects.filter(user=cast.alice)[0].text


def test_a_wrong_old_password_is_no_news(cast: Cast, visit: As) -> None:
    visit(cast.alice).post("/profile/password/", {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW})
    assert told(cast.alice) == []


@pytest.mark.parametrize(("address", "field"), [("/sign-up/", "password1"), ("/login/", "password")])
def test_no_password_and_no_secret_is_in_the_mail_about_a_page_that_broke(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, address: str, field: str
) -> None:
    said = "It is taken.\nDETAIL:  Key (email)=(dora@elsewhere.example) already exists."

    def broken(*_: object, **__: object) -> None:
        # As PostgreSQL says it, and Django raises it once more.
        try:
            raise ValueError(said)
        except ValueError as error:
            raise RuntimeError(f"It broke. {error}") from error

    settings.ADMINS = [("olga", "olga@arena.example")]
    settings.INVITATION_CODE = settings.PUBLISHER_REMOTE = secret = "kingfisher"
    for place in ("web.people.forms.user_create", "web.people.forms.email_stored"):
        monkeypatch.setattr(place, broken)
    form = {
        "email": "dora@arena.example",
        "username": "dora",
        "invitation_code": "kingfisher",
        "password1": NEW,
        "password2": NEW,
        "password": NEW,
    }
    client = Client(raise_request_exception=False)

    assert client.post(address, form).status_code == 500

    message = ErrorMail.objects.get()
    assert "It broke." in message.body
    assert field in message.body
    assert NEW not in message.body
    assert secret not in message.body
    assert "The above exception (It is taken.) was the direct cause" in message.body
    assert "dora@elsewhere.example" not in message.body


def test_a_link_to_a_new_password_that_broke_is_not_in_the_mail_about_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("It broke.")

    settings.ADMINS = [("olga", "olga@arena.example")]
    monkeypatch.setattr("web.people.password_views.PasswordResetConfirm.get_context_data", broken)
    client = Client(raise_request_exception=False)
    link = "/password-reset/Mg/c8v1ab-that-opens-it/"

    assert client.get(link, headers={"Referer": f"http://testserver{link}"}).status_code == 500

    message = ErrorMail.objects.get()
    assert "Internal Server Error: /password-reset/Mg/..." in message.subject
    assert "RuntimeError at /password-reset/Mg/..." in message.body
    assert "that-opens-it" not in f"{message.subject}{message.body}"


@pytest.mark.parametrize(
    ("password", "refusal"),
    [
        ("too-short", "at least 10 characters"),
        ("1234567890", "entirely numeric"),
        ("iloveyou123", "stolen elsewhere"),
        ("ILoveYou123", "stolen elsewhere"),
        ("My.RL-Arena.2026", "The name of this site"),
        ("alice.arena.example", "too similar"),
    ],
)
def test_passwords_that_others_would_try_are_refused(cast: Cast, visit: As, password: str, refusal: str) -> None:
    form = {"old_password": PASSWORD, "new_password1": password, "new_password2": password}
    assert refusal in visit(cast.alice).post("/profile/password/", form).content.decode()


def test_a_long_password_gets_a_token_too(cast: Cast, client: Client) -> None:
    long = "eleven words " * 200
    cast.alice.set_password(long)
    cast.alice.save()
    sent = {"email": cast.alice.email, "password": long}
    assert client.post("/api/v1/tokens/", sent, content_type="application/json").status_code == 201


def test_wrong_old_passwords_are_counted_for_the_account(cast: Cast, visit: As) -> None:
    thief = visit(cast.alice)
    form = {"old_password": "guess", "new_password1": NEW, "new_password2": NEW}
    answers = [thief.post("/profile/password/", form) for _ in range(6)]
    assert "Your old password was entered incorrectly" in answers[0].content.decode()
    assert answers[-1].status_code == 429
    # The right one is of no use any more from this address.
    assert thief.post("/profile/password/", form | {"old_password": PASSWORD}).status_code in (200, 429)
    cast.alice.refresh_from_db()
    assert cast.alice.check_password(PASSWORD)
    assert AccessAttempt.objects.get().username == cast.alice.email


def test_a_login_costs_one_hash_whatever_the_account_is(
    cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_ban(user=cast.bob, reason="Cheating.")
    made: list[str] = []
    hasher = MD5PasswordHasher.encode

    def counted(self: MD5PasswordHasher, password: str, salt: str) -> str:
        made.append(password)
        return hasher(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    counts = []
    for email, password in (
        (cast.alice.email, "guess"), (cast.bob.email, "guess"), (cast.bob.email, PASSWORD), ("x@arena.example", "x"),
    ):  # fmt: skip
        made.clear()
        page = Client(REMOTE_ADDR="192.0.2.9").post("/login/", {"username": email, "password": password})
        counts.append((len(made), "Cheating." in page.content.decode()))
    assert counts == [(1, False), (1, False), (1, True), (1, False)]


def test_links_to_choose_a_password_work_for_hours_and_the_mails_say_how_many(cast: Cast, client: Client) -> None:
    user_invite(email="dora@arena.example", username="dora")
    letter_write(kind=LetterKind.PASSWORD_RESET, email=cast.alice.email)
    mails_send()
    assert len(mail.outbox) == 2
    # The first one chooses a password, under the user name that the arena has for her.
    for message, words in zip(mail.outbox, ("Your user name is dora.", "Choose a new password"), strict=True):
        assert "12 hours" in str(message.body)
        (link,) = re.findall(r"https?://[^/\s]+(/password-reset/[^/\s]+/\S+)", str(message.body))
        assert words in client.get(link, follow=True).content.decode()
        with time_machine.travel(timezone.now() + timedelta(hours=12, minutes=1)):
            assert "has expired" in client.get(link, follow=True).content.decode()


def test_no_mail_to_an_unconfirmed_address_has_a_name_that_a_stranger_chose(cast: Cast) -> None:
    user_create(email="victim@mail.example", username="www.evil.example", password=PASSWORD)
    letter_write(kind=LetterKind.PASSWORD_RESET, email="victim@mail.example")
    mails_send()
    assert len(mail.outbox) == 2
    assert not any("evil" in f"{message.subject}{message.body}" for message in mail.outbox)
    letter_write(kind=LetterKind.PASSWORD_RESET, email=cast.alice.email)
    mails_send()
    assert "for alice:" in str(mail.outbox[-1].body)
