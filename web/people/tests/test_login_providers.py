"""Logging in with an OpenID Connect provider, which runs on this machine: the same doors, locks and limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount, SocialApp
from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from rest_framework.throttling import SimpleRateThrottle

from core.models import AuditEntry, InviteLink, Letter, User
from core.moderation.services import user_ban
from core.people.access import account_lock
from core.settings.login_providers import login_providers
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from core.tournaments.invite_links import link_address
from web.conftest import As
from web.people.tests.oidc import CLIENT, SECRET, Provider, provider_running
from web.people.tests.told import told

pytestmark = pytest.mark.django_db
START, SIGN_UP, CODE, LOGINS = "/login/with/university/", "/sign-up/with/", "/login/code/", "/profile/logins/"
DORA = {"sub": "d-1", "email": "dora@arena.example", "email_verified": True, "preferred_username": "dora"}
ALICE = {"sub": "a-1", "email": "alice@arena.example", "email_verified": True, "preferred_username": "alice"}
FORM = {"email": "dora@arena.example", "username": "dora"}


@pytest.fixture
def cast(db: None) -> Cast:
    """Of one test alone: some are about the only account that there is."""
    return factories.cast()


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with provider_running() as provider:
        yield provider


@pytest.fixture
def provider(running: Provider, settings: Settings) -> Provider:
    running.claims, running.forged = dict(DORA), {}
    settings.SOCIALACCOUNT_PROVIDERS = configured(running)
    return running


def configured(provider: Provider) -> dict[str, Any]:
    entry = {"id": "university", "name": "University", "server_url": provider.address}
    return login_providers(json.dumps([{**entry, "client_id": CLIENT, "secret": SECRET}]))


def at(address: str) -> Client:
    return Client(REMOTE_ADDR=address)


def set_off(client: Client, form: dict[str, str] | None = None, start: str = START) -> dict[str, str]:
    """Choose the provider; return what the site asks it for."""
    page = client.post(start, form or {})
    assert page.status_code == 200, "not a redirect, which the policy of content would stop"
    address = page["Refresh"].removeprefix("0; url=")
    return {name: one[0] for name, one in parse_qs(urlsplit(address).query).items()}


def come(
    client: Client, provider: Provider, form: dict[str, str] | None = None, *, start: str = START, **changed: str
) -> Any:
    """Log in at the provider and come back."""
    address = provider.authorize(set_off(client, form, start))
    back = {name: one[0] for name, one in parse_qs(urlsplit(address).query).items()}
    return client.get(urlsplit(address).path, {**back, **changed})


def is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def known(person: User, claims: dict[str, Any]) -> SocialAccount:
    return SocialAccount.objects.create(user=person, provider="university", uid=claims["sub"], extra_data={})


def test_without_providers_none_is_offered(client: Client) -> None:
    assert "login/with" not in client.get("/login/").content.decode()
    # A row of the database adds no provider.
    SocialApp.objects.create(provider="github", name="GitHub", client_id="c", secret="s")
    assert client.post(START).status_code == client.post("/login/with/github/").status_code == 404


def test_who_comes_first_signs_up_and_later_just_logs_in(client: Client, provider: Provider) -> None:
    assert "Log in with University" in client.get("/login/").content.decode()
    assert come(client, provider, {"next": "/docs/"})["Location"] == SIGN_UP
    assert not User.objects.exists()
    assert not is_logged_in(client)
    page = client.get(SIGN_UP)
    assert [page.context["form"].initial[name] for name in ("email", "username")] == ["dora@arena.example", "dora"]
    assert "password" not in str(page.context["form"].fields)

    assert client.post(SIGN_UP, FORM)["Location"] == "/docs/"

    dora = User.objects.get()
    assert (dora.username, dora.must_confirm_email, dora.has_usable_password()) == ("dora", False, False)
    assert is_logged_in(client)
    fresh = Client()
    assert come(fresh, provider)["Location"] == "/"
    assert fresh.session["_auth_user_id"] == str(dora.pk)
    assert User.objects.count() == 1


def test_github_is_asked_for_who_comes_and_for_confirmed_addresses(
    client: Client, provider: Provider, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"id": "github", "client_id": CLIENT, "secret": SECRET}
    settings.SOCIALACCOUNT_PROVIDERS = login_providers(json.dumps([entry]))
    paths = {"access_token": "token", "authorize": "authorize", "profile": "user", "emails": "user/emails"}
    for name, path in paths.items():
        monkeypatch.setattr(GitHubOAuth2Adapter, f"{name}_url", f"{provider.address}/{path}")
    assert "Log in with GitHub" in client.get("/login/").content.decode()

    assert come(client, provider, start="/login/with/github/")["Location"] == SIGN_UP
    initial = client.get(SIGN_UP).context["form"].initial
    assert (initial["email"], initial["username"], initial["github"]) == ("dora@arena.example", "dora", "dora")
    client.post(SIGN_UP, FORM | {"github": "dora"})

    dora = User.objects.get()
    assert (dora.github, dora.must_confirm_email, is_logged_in(client)) == ("dora", False, True)
    assert SocialAccount.objects.get().uid == "17"


def test_the_invitation_code_and_the_rules_of_names_hold(
    client: Client, provider: Provider, settings: Settings
) -> None:
    settings.INVITATION_CODE, settings.TEAMS = "sesame-sesame", ["Blue"]
    come(client, provider)
    for wrong in ({}, {"invitation_code": "guess"}, {"invitation_code": "sesame-sesame", "username": ".."}):
        assert client.post(SIGN_UP, {**FORM, "team": "Blue", **wrong}).status_code == 200
        assert not User.objects.exists()
    client.post(SIGN_UP, {**FORM, "team": "Blue", "invitation_code": "sesame-sesame"})
    assert User.objects.get().team == "Blue"


def test_the_link_of_an_invitation_stands_in_for_the_code_once_the_provider_leads_back(
    client: Client, provider: Provider, settings: Settings
) -> None:
    settings.INVITATION_CODE = "sesame-sesame"
    link = InviteLink.objects.create(name="Class 9b", team="Red", expires_at=timezone.now() + timedelta(days=1))
    client.get(link_address(link))
    come(client, provider)
    client.post(SIGN_UP, FORM)
    assert User.objects.get().team == "Red"
    link.refresh_from_db()
    assert link.account_count == 1
    client.post("/logout/")
    # The next person at this browser is not invited.
    assert "invitation_code" in client.get("/sign-up/").context["form"].fields


@pytest.mark.parametrize("said", [{"email_verified": False}, {"email_verified": "false"}, {"email": "else@x.example"}])
def test_an_address_that_the_provider_has_not_confirmed_is_confirmed_here(
    client: Client, provider: Provider, said: dict[str, Any]
) -> None:
    provider.claims |= said
    come(client, provider)
    client.post(SIGN_UP, FORM)
    assert User.objects.get().must_confirm_email
    assert Letter.objects.get().email == "dora@arena.example"


@pytest.mark.parametrize("verified", [True, False])
def test_no_address_opens_the_account_of_another_way_in(
    cast: Cast, client: Client, provider: Provider, verified: bool
) -> None:
    provider.claims = {**ALICE, "email_verified": verified}
    come(client, provider)
    page = client.post(SIGN_UP, {"email": "Alice@arena.example", "username": "alice2"})
    assert page.context["form"].errors == {"email": ["There is already an account with this e-mail."]}
    assert not is_logged_in(client)
    assert not SocialAccount.objects.exists()
    # The form still works with another address.
    assert client.post(SIGN_UP, {"email": "other@arena.example", "username": "alice2"}).status_code == 302
    assert User.objects.get(username="alice2").must_confirm_email


def test_that_an_address_is_taken_is_not_said_to_who_could_not_sign_up_anyway(
    cast: Cast, client: Client, provider: Provider, settings: Settings
) -> None:
    settings.INVITATION_CODE = "sesame-sesame"
    come(client, provider)
    said = [
        client.post(SIGN_UP, {"email": email, "username": "dora"}).context["form"].errors
        for email in (cast.alice.email, "free@arena.example")
    ]
    assert said[0] == said[1]


def test_a_lock_after_wrong_passwords_is_one_for_every_way_in(cast: Cast, provider: Provider) -> None:
    known(cast.alice, ALICE)
    provider.claims = dict(ALICE)
    for _ in range(5):
        at("192.0.2.1").post("/login/", {"username": cast.alice.email, "password": "guess"})
    locked = at("192.0.2.1")
    answer = come(locked, provider)
    assert (answer.status_code, is_logged_in(locked)) == (429, False)
    assert int(answer["Retry-After"]) > 0
    sent = {"email": cast.alice.email, "password": PASSWORD}
    assert locked.post("/api/v1/tokens/", sent, content_type="application/json").status_code == 429
    elsewhere = at("198.51.100.7")
    come(elsewhere, provider)
    assert is_logged_in(elsewhere)


def test_a_closed_account_stays_closed_and_says_why(cast: Cast, client: Client, provider: Provider) -> None:
    known(cast.alice, ALICE)
    provider.claims = dict(ALICE)
    user_ban(user=cast.alice, reason="Sock puppets.")
    page = come(client, provider)
    assert (page.status_code, is_logged_in(client)) == (403, False)
    assert "The organisers closed this account: Sock puppets." in page.content.decode()


def test_the_second_factor_is_asked_for(cast: Cast, client: Client, provider: Provider) -> None:
    known(cast.olga, ALICE)
    provider.claims = dict(ALICE)
    _, codes = factories.second_factor(cast.olga)
    assert come(client, provider, {"next": "/admin/"})["Location"] == CODE
    assert not is_logged_in(client)
    assert client.post(CODE, {"code": codes[0]})["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200
    assert [row.action for row in AuditEntry.objects.all()] == ["log_in"]


def test_where_it_is_required_an_organiser_without_one_sets_it_up_first(
    cast: Cast, client: Client, provider: Provider, settings: Settings
) -> None:
    settings.REQUIRE_STAFF_TOTP = True
    known(cast.olga, ALICE)
    provider.claims = dict(ALICE)
    come(client, provider)
    assert client.get("/admin/")["Location"] == "/profile/second-factor/"


@pytest.mark.parametrize("trick", ["a foreign state", "a used code", "another audience", "another issuer", "expired"])
def test_what_the_provider_has_not_said_opens_nothing(
    cast: Cast, client: Client, provider: Provider, trick: str
) -> None:
    known(cast.alice, ALICE)
    provider.claims = dict(ALICE)
    changed: dict[str, Any] = {}
    match trick:
        case "a foreign state":
            changed = {"state": set_off(Client())["state"]}
        case "a used code":
            changed = {"code": "used"}
        case "another audience":
            provider.forged = {"aud": "another-site"}
        case "another issuer":
            provider.forged = {"iss": "https://evil.example"}
        case _:
            provider.forged = {"exp": 1}
    page = come(client, provider, **changed)
    assert page.status_code in (200, 401)
    assert "You are not logged in" in page.content.decode()
    assert not is_logged_in(client)


def test_a_provider_that_is_away_or_cancelled_is_a_page(client: Client, provider: Provider, settings: Settings) -> None:
    state = set_off(client)["state"]
    cancelled = client.get(f"{START}back/", {"error": "access_denied", "state": state}, follow=True)
    assert "was cancelled" in cancelled.content.decode()
    settings.SOCIALACCOUNT_PROVIDERS = configured(Provider(address="http://127.0.0.1:9"))
    page = client.post(START, follow=True)
    assert (page.status_code, "Please try again" in page.content.decode()) == (401, True)


def test_only_a_form_of_ours_sets_off(client: Client, provider: Provider) -> None:
    page = client.get(START)
    assert page.status_code == 200
    assert "Refresh" not in page
    assert Client(enforce_csrf_checks=True).post(START).status_code == 403


def test_a_provider_is_added_in_a_fresh_session_only_and_to_one_account(
    cast: Cast, provider: Provider, visit: As
) -> None:
    provider.claims = dict(ALICE)
    old = visit(cast.alice)
    assert come(old, provider, {"process": "connect"})["Location"] == "/profile/again/"
    assert not SocialAccount.objects.exists()
    # It goes on where it was.
    assert old.post("/profile/again/", {"password": PASSWORD})["Location"] == LOGINS
    assert SocialAccount.objects.get().user == cast.alice
    assert told(cast.alice) == ["Your account can be opened with University"]
    cast.alice.refresh_from_db()
    assert cast.alice.email == "alice@arena.example"

    bob = Client()
    bob.post("/login/", {"username": cast.bob.email, "password": PASSWORD})
    page = bob.get(come(bob, provider, {"process": "connect"})["Location"]).content.decode()
    assert "opens another account of the arena already" in page
    assert SocialAccount.objects.get().user == cast.alice


def test_an_ended_session_adds_no_provider(cast: Cast, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*, user: User) -> None:
        User.objects.filter(pk=cast.olga.pk).update(session_epoch=F("session_epoch") + 1)
        account_lock(user=user)

    olga = Client()
    olga.post("/login/", {"username": cast.olga.email, "password": PASSWORD})
    monkeypatch.setattr("core.people.login_log.account_lock", meanwhile)
    answer = come(olga, provider, {"process": "connect"})
    assert (answer.status_code, "Your account has changed in the meantime" in answer.content.decode()) == (409, True)
    assert not SocialAccount.objects.filter(user=cast.olga).exists()


def test_the_audit_log_says_that_an_organiser_added_a_provider_and_gave_it_up(cast: Cast, provider: Provider) -> None:
    olga = Client()
    olga.post("/login/", {"username": cast.olga.email, "password": PASSWORD})
    come(olga, provider, {"process": "connect"})
    olga.post(LOGINS, {"account": SocialAccount.objects.get().pk})
    rows = AuditEntry.objects.order_by("pk")
    assert [(row.operator, row.action) for row in rows] == [
        ("olga", "log_in"),
        ("olga", "add_login"),
        ("olga", "remove_login"),
    ]
    assert rows[1].note == "university: d-1"


def test_the_last_way_in_is_not_given_up(client: Client, provider: Provider) -> None:
    come(client, provider)
    client.post(SIGN_UP, FORM)
    row = SocialAccount.objects.get()
    assert "Set a password first" in client.post(LOGINS, {"account": row.pk}).content.decode()
    new = {"new_password1": "quite-another-one", "new_password2": "quite-another-one"}
    assert client.post("/profile/password/set/", new)["Location"] == "/profile/"
    assert client.post(LOGINS, {"account": row.pk})["Location"] == LOGINS
    assert not SocialAccount.objects.exists()
    assert told(row.user)[-1] == "Your account can no longer be opened with University"


@pytest.mark.parametrize("gone", ["library", "github"])
def test_a_provider_that_the_operator_has_removed_is_given_up_and_keeps_no_account_open(
    client: Client, provider: Provider, gone: str
) -> None:
    come(client, provider)
    client.post(SIGN_UP, FORM)
    here = SocialAccount.objects.get()
    # As a row from before, which ends no session now.
    SocialAccount.objects.bulk_create([SocialAccount(user=here.user, provider=gone, uid="1", extra_data={})])
    old = SocialAccount.objects.get(provider=gone)
    assert "no longer knows this provider" in client.get(LOGINS).content.decode()
    assert "Set a password first" in client.post(LOGINS, {"account": here.pk}).content.decode()
    assert (
        "no longer log in with this provider" in client.post(LOGINS, {"account": old.pk}, follow=True).content.decode()
    )
    assert SocialAccount.objects.get() == here


def test_who_has_no_password_shows_who_they_are_by_logging_in_again(
    client: Client, provider: Provider, settings: Settings
) -> None:
    come(client, provider)
    client.post(SIGN_UP, FORM)
    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = -1
    page = client.get("/profile/delete/")
    assert page.status_code == 403
    assert "Log out and log in again" in page.content.decode()


def test_the_rates_of_logins_and_of_new_accounts_count(
    client: Client, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    come(client, provider)
    rates = SimpleRateThrottle.THROTTLE_RATES
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {**rates, "login": "3/minute", "sign_up": "1/hour"})
    assert [client.post(START).status_code for _ in range(3)] == [200, 200, 429]
    assert client.post(SIGN_UP, {}).status_code == 200
    assert client.post(SIGN_UP, FORM).status_code == 429
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "must be a JSON list of objects"),
        ('{"id": "github"}', "must be a JSON list of objects"),
        ('[{"id": "github", "client_id": "c"}]', "entry 1 needs the text 'secret'"),
        ('[{"id": "github", "client_id": "c", "secret": "s", "scope": "repo"}]', "entry 1 has no 'scope'"),
        ('[{"id": "A b", "name": "n", "server_url": "https://x", "client_id": "c", "secret": "s"}]', "the id 'A b'"),
        ('[{"id": "uni", "name": "n", "server_url": "http://x.example", "client_id": "c", "secret": "s"}]', "https"),
    ],
)
def test_a_wrong_variable_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="LOGIN_PROVIDERS") as error:
        login_providers(text)
    assert said in str(error.value)
