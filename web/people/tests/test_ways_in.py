"""Whatever changes who can log in ends all other sessions, revokes tokens, and is told. A new way belongs here."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.db.models import F
from django.test import Client, TestCase
from django.urls import reverse
from django.utils import timezone

from core.models import AccountEvent, User
from core.moderation.services import user_ban, user_unban
from core.people import access
from core.people.emails import email_change_begin
from core.people.tokens import token_create, token_find
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from web.organise.actions.people import PEOPLE_ACTIONS
from web.people.tests.shown import just_shown
from web.people.tests.told import told
from web.people.urls import accounts, pages
from web.tests.house import reset_link

pytestmark = pytest.mark.django_db
NEW = "quite-another-one"
NEW_TWICE = {"new_password1": NEW, "new_password2": NEW}
COMMANDS = [Path(__file__).parents[3] / room / "management/commands" for room in ("core", "web")]


@dataclass(frozen=True, slots=True)
class Way:
    """A way that changes who can log in.

    address: the page that an owner sends, or the name of what organisers and operators do. act: with the browser of the
    person who does it, and what the form says besides. method: how the session has shown whose it is. is_own: whether
    the owner's session goes on.
    """

    address: str
    act: Callable[[Client, User, dict[str, str]], object]
    before: Callable[[User], object] = lambda _: None
    method: str = "password"
    is_own: bool = True
    has_box: bool = True
    more: dict[str, str] = field(default_factory=dict)


def send(name: str, **form: str) -> Callable[[Client, User, dict[str, str]], object]:
    def act(client: Client, person: User, box: dict[str, str]) -> object:
        answer = client.post(reverse(name), {**form, **box})
        assert answer.status_code == 302, answer.content.decode()
        return answer

    return act


def set_up(client: Client, person: User, box: dict[str, str]) -> object:
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    return send("mfa_activate_totp", code=code)(client, person, box)


def reset(client: Client, person: User, box: dict[str, str]) -> object:
    stranger = Client()
    address = stranger.get(reset_link(person), follow=True).redirect_chain[-1][0]
    assert stranger.post(address, NEW_TWICE | box).status_code == 302
    return None


def confirm(client: Client, person: User, box: dict[str, str]) -> object:
    row = EmailAddress.objects.create(user=person, email="new@arena.example")
    return client.post(reverse("account_confirm_email", args=[EmailConfirmationHMAC(row).key]), box)


def disconnect(client: Client, person: User, box: dict[str, str]) -> object:
    row = SocialAccount.objects.get(user=person)
    return send("socialaccount_connections", account=str(row.pk))(client, person, box)


def without_password(person: User) -> None:
    person.set_unusable_password()
    person.save()


def with_provider(person: User) -> None:
    SocialAccount.objects.create(user=person, provider="github", uid="1", extra_data={})


def by_organiser(address: str, form: dict[str, str]) -> Callable[[Client, User, dict[str, str]], object]:
    def act(client: Client, person: User, box: dict[str, str]) -> object:
        olga = Client()
        olga.force_login(User.objects.get(username="olga"))
        app = Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).first()
        place = address.format(person=person.pk, app=app.pk if app else 0)
        # A box that an organiser sends is no wish of the owner.
        assert olga.post(place, {**form, **box}).status_code == 302
        return None

    return act


def new_code(client: Client, person: User, box: dict[str, str]) -> object:
    User.objects.filter(pk=person.pk).update(email="alice@none.invalid")
    olga = Client()
    olga.force_login(User.objects.get(username="olga"))
    assert olga.post(f"/organise/people/{person.pk}/code/", box).status_code == 200
    return None


def banned_and_back(client: Client, person: User, box: dict[str, str]) -> object:
    user_ban(user=person, reason="")
    user_unban(user=person)
    return None


def typed(client: Client, person: User, box: dict[str, str]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("getpass.getpass", lambda **_: NEW)
        call_command("changepassword", person.email, stdout=io.StringIO())
    return None


PROFILE = {"username": "alice", "email": "other@arena.example", "team": "", "github": ""}
CHANGE = {"old_password": PASSWORD, **NEW_TWICE}
WAYS = (
    Way("account_change_password", send("account_change_password", **CHANGE)),
    Way("account_set_password", send("account_set_password", **NEW_TWICE), before=without_password),
    Way("account_reset_password_from_key", reset, is_own=False),
    Way("account_confirm_email", confirm),
    Way("mfa_activate_totp", set_up),
    Way("mfa_deactivate_totp", send("mfa_deactivate_totp"), before=factories.second_factor, method="mfa"),
    Way("mfa_generate_recovery_codes", send("mfa_generate_recovery_codes"), before=factories.second_factor,
        method="mfa"),
    Way("socialaccount_connections", disconnect, before=with_provider),
    Way("a row of a provider", lambda _, person, box: with_provider(person), is_own=False, has_box=False),
    Way("a row of a factor", lambda _, person, box: factories.second_factor(person), is_own=False, has_box=False),
    Way("organise: ban", by_organiser("/organise/do/user/{person}/ban/", {"reason": "x"}), is_own=False,
        has_box=False),
    Way("organise: end_sessions", by_organiser("/organise/do/user/{person}/end_sessions/", {}), is_own=False,
        has_box=False),
    Way("organise: new code", new_code, is_own=False, has_box=False),
    Way("organise: unban", banned_and_back, is_own=False, has_box=False),
    Way("organise: profile", by_organiser("/organise/people/{person}/profile/", PROFILE), is_own=False,
        has_box=False),
    Way("admin: factor", by_organiser("/admin/mfa/authenticator/{app}/delete/", {"post": "yes"}),
        before=factories.second_factor, method="mfa", is_own=False, has_box=False),
    Way("command: changepassword", typed, is_own=False, has_box=False),
    Way("command: second_factor_drop",
        lambda _, person, box: call_command("second_factor_drop", person.email, stdout=io.StringIO()),
        before=factories.second_factor, method="mfa", is_own=False, has_box=False),
)  # fmt: skip
BY_ROWS = {"mfa_add_webauthn", "mfa_remove_webauthn", "github_callback", "openid_connect_callback",
           "socialaccount_signup"}  # fmt: skip
"""Pages that make or delete a row of a factor or of a provider, which two ways above do."""
CHANGE_NOTHING = {
    # They open or close a session, or a new account.
    "account_login", "mfa_authenticate", "mfa_login_webauthn", "github_login", "openid_connect_login",
    "socialaccount_login_cancelled", "socialaccount_login_error", "account_logout", "account_signup",
    "first_login", "account_reset_password", "account_reset_password_done", "account_reset_password_from_key_done",
    "account_reauthenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn",
    # They ask for an address, which counts when it is confirmed, or show and rename.
    "account_email", "mfa_index", "mfa_view_recovery_codes", "mfa_list_webauthn", "mfa_edit_webauthn",
    "profile", "user", "account_export", "sessions", "tokens",
    # They end sessions or tokens themselves.
    "account_delete", "sessions_close", "session_close", "token_revoke",
    "organise: delete", "organise: unlock_logins", "organise: confirm_email", "organise: mail_link",
    "command: arena_status", "command: autoscale", "command: backup", "command: demo", "command: files_copy",
    "command: first_organiser", "command: import_classic", "command: kit_bundle", "command: migrate",
    "command: monitoring_files", "command: restore",
    "command: retention", "command: run_workers", "command: secrets_seal", "command: sync_environments",
}  # fmt: skip


def test_every_page_action_and_command_is_known() -> None:
    """A new one that changes who can log in needs a `Way`."""
    named = {str(one.name) for one in (*accounts, *pages)}
    named |= {f"organise: {action.name}" for action in PEOPLE_ACTIONS}
    named |= {f"command: {file.stem}" for folder in COMMANDS for file in folder.glob("[a-z]*.py")}
    known = {way.address for way in WAYS} | BY_ROWS | CHANGE_NOTHING
    assert named - known == set()
    assert known - named == {"a row of a provider", "a row of a factor", "organise: profile", "admin: factor",
                             "organise: new code"}  # fmt: skip


def test_only_the_rule_raises_the_number_that_ends_sessions() -> None:
    """And no other code makes a password, closes an account or deletes all tokens of a person."""
    found: dict[str, set[str]] = {}
    root = Path(__file__).parents[3]
    for folder in ("core", "web", "executor"):
        for file in (root / folder).rglob("*.py"):
            if "tests" in file.parts or "migrations" in file.parts:
                continue
            text = file.read_text()
            for mark in (r"session_epoch\b.*\+", r"\.set_password\(", r"is_active=(?:False|True), ban_reason",
                         r"ApiToken\.objects\.filter\(owner=\w+\)\.delete"):  # fmt: skip
                if re.search(mark, text):
                    found.setdefault(mark, set()).add(str(file.relative_to(root)))
    assert found == {
        r"session_epoch\b.*\+": {"core/people/access.py"},
        r"\.set_password\(": {"core/people/second_factor.py", "core/demo/accounts.py"},
        r"is_active=(?:False|True), ban_reason": {"core/moderation/services.py"},
        r"ApiToken\.objects\.filter\(owner=\w+\)\.delete": {"core/people/access.py"},
    }


@pytest.mark.parametrize("keeps", [False, True], ids=["plain", "keeps"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.address)
def test_it_ends_other_sessions_revokes_tokens_and_is_told(cast: Cast, way: Way, keeps: bool) -> None:
    person = cast.alice
    User.objects.filter(pk=person.pk).update(last_login=timezone.now())
    person.refresh_from_db()
    way.before(person)
    here, elsewhere = (just_shown(person, way.method) for _ in range(2))
    assert elsewhere.get("/inbox/").status_code == 200
    _, token = token_create(owner=person, name="laptop", now=timezone.now())
    heard = len(told(person))

    with TestCase.captureOnCommitCallbacks(execute=True):
        way.act(here, person, {"keep_tokens": "on"} if keeps else {})

    assert elsewhere.get("/inbox/").status_code == 302
    assert (here.get("/inbox/").status_code == 200) is way.is_own
    assert (token_find(token, now=timezone.now()) is not None) is (keeps and way.has_box)
    if way.address != "organise: ban":
        assert len(told(person)) > heard


def test_a_provider_keeps_the_tokens_of_an_owner_who_ticked_the_box_on_the_way(cast: Cast) -> None:
    client = just_shown(cast.alice)
    session = client.session
    session["keep_tokens"] = True
    session.save()
    # The box of the way to a provider is for nothing else.
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now())
    send("account_change_password", **CHANGE)(client, cast.alice, {})
    assert token_find(token, now=timezone.now()) is None


def test_a_token_that_waited_for_a_change_is_not_made(cast: Cast) -> None:
    """A thief who knows the old password asks for a token at the moment of the change."""
    thief = User.objects.get(pk=cast.alice.pk)
    send("account_change_password", **CHANGE)(just_shown(cast.alice), cast.alice, {})
    with pytest.raises(Exception, match="has just changed"):
        token_create(owner=thief, name="late", now=timezone.now())


def test_who_deletes_the_account_leaves_no_session(cast: Cast) -> None:
    client, elsewhere = just_shown(cast.alice), just_shown(cast.alice)
    assert client.post("/profile/delete/", {"username": "alice"}).status_code == 302
    assert elsewhere.get("/inbox/").status_code == 302
    assert not UserSession.objects.filter(user=cast.alice).exists()
    assert not AccountEvent.objects.filter(user=cast.alice).exists()


@pytest.mark.parametrize("meanwhile", [{"is_active": False}, {"session_epoch": 7}])
def test_a_change_of_password_in_flight_undoes_nothing(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, meanwhile: dict[str, object]
) -> None:
    client = Client()
    client.post("/login/", {"username": cast.alice.email, "password": PASSWORD})

    def hashed(password: str) -> str:
        # Another request, while this one hashes.
        User.objects.filter(pk=cast.alice.pk).update(**meanwhile)
        return make_password(password)

    monkeypatch.setattr("core.people.access.make_password", hashed)
    answer = client.post("/profile/password/", {"old_password": PASSWORD, **NEW_TWICE})
    assert "Your account has changed in the meantime." in answer.content.decode()
    assert User.objects.get(pk=cast.alice.pk).check_password(PASSWORD)


def test_a_change_of_password_writes_the_password_alone(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.post("/login/", {"username": cast.alice.email, "password": PASSWORD})

    def hashed(password: str) -> str:
        User.objects.filter(pk=cast.alice.pk).update(is_staff=True, email="other@arena.example")
        return make_password(password)

    monkeypatch.setattr("core.people.access.make_password", hashed)
    assert client.post("/profile/password/", {"old_password": PASSWORD, **NEW_TWICE}).status_code == 302
    row = User.objects.get(pk=cast.alice.pk)
    assert (row.is_staff, row.email, row.check_password(NEW)) == (True, "other@arena.example", True)


def test_a_session_that_was_ended_meanwhile_is_not_renewed(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    end = access.access_end

    def ended_before(*, user: User, **named: bool) -> int:
        User.objects.filter(pk=cast.alice.pk).update(session_epoch=F("session_epoch") + 1)
        return end(user=user, **named)

    monkeypatch.setattr("web.people.access_views.access_end", ended_before)
    client.post("/profile/sessions/end/")
    assert client.get("/profile/").status_code == 302


def test_who_opened_an_account_in_advance_keeps_no_token_by_a_box(cast: Cast) -> None:
    User.objects.filter(pk=cast.alice.pk).update(email_confirmed_at=None)
    cast.alice.refresh_from_db()
    _, token = token_create(owner=cast.alice, name="squatter", now=timezone.now(), days=1)
    client, link = Client(), reset_link(cast.alice)
    page = client.get(link, follow=True)
    assert "keep_tokens" not in page.content.decode()
    client.post(page.redirect_chain[-1][0], {**NEW_TWICE, "keep_tokens": "on"})
    assert User.objects.get(pk=cast.alice.pk).check_password(NEW)
    assert token_find(token, now=timezone.now()) is None


def test_an_address_that_a_thief_has_asked_for_is_forgotten(cast: Cast) -> None:
    wish = email_change_begin(user=cast.alice, email="thief@arena.example")
    link = reverse("account_confirm_email", args=[EmailConfirmationHMAC(wish).key])
    typed(Client(), cast.alice, {})
    assert Client().post(link).status_code == 404
    cast.alice.refresh_from_db()
    assert cast.alice.email == "alice@arena.example"


def test_an_ended_session_asks_for_no_address(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*_: object, **__: object) -> None:
        User.objects.filter(pk=cast.alice.pk).update(session_epoch=F("session_epoch") + 1)

    alice = Client()
    alice.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    monkeypatch.setattr("web.people.email_views.account_record", meanwhile)
    answer = alice.post(reverse("account_email"), {"email": "thief@arena.example", "action_add": ""})
    assert "Your account has changed in the meantime" in answer.content.decode()
    assert not EmailAddress.objects.filter(email="thief@arena.example").exists()


def test_a_password_typed_by_the_operator_undoes_no_ban(cast: Cast) -> None:
    def ban(**_: object) -> str:
        if User.objects.get(pk=cast.alice.pk).is_active:
            user_ban(user=User.objects.get(pk=cast.alice.pk), reason="x")
        return NEW

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("getpass.getpass", ban)
        call_command("changepassword", cast.alice.email, stdout=io.StringIO())
    cast.alice.refresh_from_db()
    assert not cast.alice.is_active
    assert cast.alice.check_password(NEW)


def test_an_ended_session_adds_no_factor(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*, user: User) -> None:
        User.objects.filter(pk=cast.alice.pk).update(session_epoch=F("session_epoch") + 1)
        access.account_lock(user=user)

    alice = Client()
    alice.post("/login/", {"username": cast.alice.email, "password": PASSWORD})
    monkeypatch.setattr("web.people.second_factor_views.account_lock", meanwhile)
    secret = alice.get(reverse("mfa_activate_totp")).context["form"].secret
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    answer = alice.post(reverse("mfa_activate_totp"), {"code": code})
    assert "Your account has changed in the meantime" in answer.content.decode()
    assert not Authenticator.objects.filter(user=cast.alice).exists()
