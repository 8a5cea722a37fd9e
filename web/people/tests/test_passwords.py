"""What happens to passwords and to the sessions that they opened."""

from __future__ import annotations

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import identify_hasher, make_password
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.models import ErrorMail, Notice, User
from core.people.services import user_create
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


def test_a_new_password_ends_all_other_sessions_and_no_token(cast: Cast, visit: As, client: Client) -> None:
    here, elsewhere = visit(cast.alice), visit(cast.alice)
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    before = here.cookies[django_settings.SESSION_COOKIE_NAME].value

    here.post("/profile/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})

    assert here.get("/profile/").status_code == 200
    assert here.cookies[django_settings.SESSION_COOKIE_NAME].value != before
    assert elsewhere.get("/profile/").status_code == 302
    assert client.get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_the_owner_is_told_of_a_new_password_and_of_a_new_token(cast: Cast, visit: As) -> None:
    visit(cast.alice).post("/profile/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})
    assert told(cast.alice) == ["Your password was changed"]
    token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    assert told(cast.alice) == ["Your password was changed", "The API token laptop was created"]
    assert Notice.objects.filter(user=cast.alice, mail_next_at=None).count() == 0
    assert "tell the organisers" in Notice.objects.filter(user=cast.alice)[0].text


def test_a_wrong_old_password_is_no_news(cast: Cast, visit: As) -> None:
    visit(cast.alice).post("/profile/password/", {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW})
    assert told(cast.alice) == []


def test_a_password_set_by_an_organiser_ends_all_sessions(cast: Cast, visit: As) -> None:
    alice = visit(cast.alice)
    form = {"usable_password": "true", "password1": NEW, "password2": NEW}
    assert visit(cast.olga).post(f"/admin/core/user/{cast.alice.pk}/password/", form).status_code == 302
    assert alice.get("/profile/").status_code == 302


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
