"""Whatever organisers do to other people's things is in the audit log, and told where it concerns an account."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from core.links import agent_address
from core.models import AuditEntry, Environment, Letter, LetterKind, Notice, Rollout, User
from core.people.tokens import token_create
from core.rollouts.judging import can_be_judged
from core.tests import applications, factories
from core.tests.factories import Cast
from tests.databases import rolled_back
from web.conftest import As
from web.people.tests.told import told
from web.tests.house import furnished
from web.tests.test_access import PEOPLE, lines

pytestmark = pytest.mark.django_db
OWNER, OTHER, STAFF = (PEOPLE.index(who) for who in ("owner", "other", "staff"))
FORMS = {
    "/courses/add/", "/courses/{course}/settings/", "/courses/{course}/news/", "/courses/{course}/people/add/",
    "/courses/{course}/assignments/add/", "/courses/{course}/assignments/{assignment}/settings/",
    "/courses/{course}/assignments/{assignment}/people/{student}/marks/",
    "/organise/tournaments/plan/", "/organise/tournaments/{planned}/", "/organise/people/links/",
    "/organise/people/class/", "/organise/webhooks/add/", "/organise/webhooks/{webhook}/",
    "/organise/people/{user}/profile/", "/organise/agents/{agent_id}/", "/organise/environments/{game}/",
    "/organise/seasons/add/", "/organise/seasons/{season}/", "/organise/schedules/add/",
    "/organise/schedules/{schedule}/", "/organise/models/add/", "/organise/models/{model}/", "/organise/packages/add/",
    "/organise/folders/add/",
    "/organise/do/duel/{duel}/void/", "/api/v1/jobs/build/{build}/priority/", "/api/v1/tournaments/{cup}/acts/pause/",
    "/api/v1/tournaments/{cup}/acts/picture/",
}  # fmt: skip
"""Addresses whose form is not empty: tests of organise, courses and jobs send them and read the audit log."""
NOTHING_CHOSEN = {"/organise/do/duel/void/", "/courses/{course}/people/extend/", "/courses/{course}/teams/add/"}


@pytest.fixture
def house(cast: Cast) -> dict[str, Any]:
    return furnished(cast)


def for_organisers() -> list[tuple[str, str, int]]:
    """Return the acts that organisers may do to what is another person's, and that other members may not."""
    return [
        (method, address, statuses[STAFF])
        for method, address, statuses in lines()
        if method != "GET" and statuses[OTHER] in (403, 404) and statuses[STAFF] not in (403, 404, 405)
    ]


def test_every_act_that_only_organisers_may_do_is_written_down(
    house: dict[str, Any], cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the table of who may do what, in which every address stands."""
    monkeypatch.setattr("core.rollouts.judging.can_be_judged", lambda _: True)
    silent, sent = [], 0
    for method, address, status in for_organisers():
        if address in FORMS | NOTHING_CHOSEN:
            continue
        client = Client()
        client.force_login(cast.olga)
        with rolled_back():
            before = AuditEntry.objects.count()
            answer = getattr(client, method.lower())(address.format(**house))
            assert answer.status_code == status, address
            sent += 1
            if AuditEntry.objects.count() == before:
                silent.append(f"{method} {address}")
        cache.clear()
    assert silent == []
    assert sent >= 12
    assert {address for _, address, status in for_organisers() if status in (400, 415, 422)} >= FORMS


def test_what_people_do_to_their_own_is_not(house: dict[str, Any], cast: Cast, visit: As) -> None:
    alice = visit(cast.alice)
    before = AuditEntry.objects.count()
    assert alice.post(f"/rollouts/{house['rollout']}/cancel/").status_code == 302
    assert alice.delete(f"/api/rollouts/{house['rollout']}").status_code in (200, 403)
    assert AuditEntry.objects.count() == before


def test_an_act_that_cannot_be_written_down_is_not_done(
    house: dict[str, Any], cast: Cast, visit: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise RuntimeError("The disk is full.")

    monkeypatch.setattr("core.people.audit_log.audit_record", full)
    with pytest.raises(RuntimeError, match="disk is full"):
        visit(cast.olga).delete(f"/api/v1/rollouts/{house['rollout']}/")
    assert Rollout.objects.get(public_id=house["rollout"]).cancel_code == ""


def test_tasks_that_rank_are_written_down_when_an_organiser_uploads_them(
    cast: Cast, visit: As, settings: Settings
) -> None:
    settings.ROLLOUTS = "members"
    rollout = applications.everything(cast.olga)
    assert not can_be_judged(rollout) or rollout.record
    data = b'[{"id": "new-1", "task": "Open the shop.", "answer": "yes", "split": "ranking"}]'
    for person, count in ((cast.alice, 0), (cast.olga, 1)):
        file = SimpleUploadedFile("tasks.json", data, "application/json")
        form = {"file": file, "environment": rollout.environment.slug}
        answer = visit(person).post(reverse("api:dashboard_upload"), form)
        assert answer.status_code == 200, answer.content
        entries = AuditEntry.objects.filter(action="upload_tasks", operator=person.username)
        assert entries.count() == count


@pytest.mark.parametrize(
    ("act", "title"),
    [
        ("unlock_logins", "Your account can log in again from everywhere"),
        ("mail_link", "Your account gets a mail with a link to choose a new password"),
        ("confirm_email", "Your account has a confirmed e-mail"),
    ],
)
def test_people_are_told_what_an_organiser_did_to_their_account(cast: Cast, visit: As, act: str, title: str) -> None:
    if act == "confirm_email":
        User.objects.filter(pk=cast.alice.pk).update(email_confirmed_at=None)
    for _ in range(2):
        Client().post("/login/", {"username": cast.alice.email, "password": "guess"})
    visit(cast.olga).post(f"/organise/do/user/{cast.alice.pk}/{act}/", {"sure": "yes"})
    assert told(cast.alice) == [title]


def test_people_are_told_of_changed_names_quotas_and_revoked_tokens(cast: Cast, visit: As) -> None:
    olga, alice = visit(cast.olga), cast.alice
    form = {"username": "alice", "email": alice.email, "team": "Red", "github": ""}
    assert olga.post(f"/organise/people/{alice.pk}/profile/", form).status_code == 302
    assert olga.post(f"/organise/people/{alice.pk}/", {"is_quota_exempt": "on"}).status_code == 302
    token = token_create(owner=alice, name="laptop", now=factories.NOON)[0]
    olga.post(f"/organise/do/apitoken/{token.pk}/revoke/")
    assert told(alice) == [
        "Your account was changed: team", "Your account has other quotas", "The API token laptop was created",
        "Your API token laptop is revoked",
    ]  # fmt: skip
    # What they do to their own account is no news to them.
    form = {"username": "olga", "email": cast.olga.email, "team": "Red", "github": ""}
    olga.post(f"/organise/people/{cast.olga.pk}/profile/", form)
    assert told(cast.olga) == []


def test_people_are_told_their_new_name_and_the_new_names_of_their_agents(
    cast: Cast, environment: Environment, visit: As
) -> None:
    olga, alice = visit(cast.olga), cast.alice
    agent, own = factories.agent(alice, environment, "rook"), factories.agent(cast.olga, environment, "queen")
    form = {"username": "alicia", "email": alice.email, "team": "Red", "github": ""}
    assert olga.post(f"/organise/people/{alice.pk}/profile/", form).status_code == 302
    for row, name in ((agent, "bishop"), (own, "king"), (agent, "bishop")):
        fields = {"name": name, "opponents": row.opponents, "description": "Thinks."}
        assert olga.post(f"/organise/agents/{row.pk}/", fields).status_code == 302
    assert told(alice) == [
        "Your account was changed: user name (now alicia), team", "rook is now called bishop",
        "Your agent bishop was changed: description",
    ]  # fmt: skip
    assert told(cast.olga) == []
    agent.refresh_from_db()
    assert Notice.objects.get(title="rook is now called bishop").address == agent_address(agent)


def test_the_old_address_is_told_when_an_organiser_gives_an_account_another(cast: Cast, visit: As) -> None:
    form = {"username": "alice", "email": "thief@arena.example", "team": "", "github": ""}
    answer = visit(cast.olga).post(f"/organise/people/{cast.alice.pk}/profile/", form, follow=True)
    assert "A link that confirms the address goes to thief@arena.example." in answer.content.decode()
    letters = {(one.kind, one.email) for one in Letter.objects.all()}
    assert letters == {
        (LetterKind.EMAIL_CHANGED, "alice@arena.example"), (LetterKind.CONFIRM_EMAIL, "thief@arena.example"),
    }  # fmt: skip
    assert "An organiser has given your account another e-mail address" in told(cast.alice)


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_a_ban_and_a_deletion_are_mailed_to_a_confirmed_address(cast: Cast, visit: As, is_confirmed: bool) -> None:
    if not is_confirmed:
        User.objects.filter(pk__in=(cast.alice.pk, cast.bob.pk)).update(email_confirmed_at=None)
    olga = visit(cast.olga)
    olga.post(f"/organise/do/user/{cast.alice.pk}/ban/", {"reason": "Cheating."})
    olga.post(f"/organise/do/user/{cast.bob.pk}/delete/", {"sure": "yes"})
    found = {(one.kind, one.email) for one in Letter.objects.all()}
    both = {(LetterKind.CLOSED, "alice@arena.example"), (LetterKind.CLOSED, "bob@arena.example")}
    assert found == (both if is_confirmed else set())


def test_no_organiser_types_a_password(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    new = {"usable_password": "true", "password1": "quite-another-one", "password2": "quite-another-one"}
    assert olga.post(f"/admin/core/user/{cast.alice.pk}/password/", new).status_code == 403
    form = olga.get("/admin/core/user/add/").content.decode()
    assert 'name="email"' in form
    assert 'type="password"' not in form
    assert olga.get(f"/admin/core/user/{cast.alice.pk}/change/").content.decode().count('type="password"') == 0
    fields = {"email": "dora@arena.example", "username": "dora", "team": "", "github": "", **new}
    assert olga.post("/admin/core/user/add/", fields).status_code == 302
    dora = User.objects.get(username="dora")
    assert not dora.has_usable_password()
    assert [one.kind for one in Letter.objects.filter(email=dora.email)] == [LetterKind.INVITATION]


def test_the_secret_of_a_new_webhook_is_in_the_answer_alone(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    form = {
        "name": "door", "format": "GENERIC", "secret_url": "https://hooks.example/x", "kinds": ["ALARM"],
        "environment": "", "is_active": "on",
    }  # fmt: skip
    for address in ("/organise/webhooks/add/", "/admin/core/webhook/add/"):
        answer = olga.post(address, form | {"name": address})
        page = answer.content.decode()
        assert answer.status_code == 200, page
        assert "The secret of this webhook is " in page
        secret = page.partition("The secret of this webhook is ")[2].split(".")[0]
        assert "no-store" in answer["Cache-Control"]
        assert not any(secret in str(cookie) for cookie in answer.cookies.values())
        assert secret not in olga.get("/organise/webhooks/").content.decode()
        assert secret not in str(dict(olga.session))


def test_owners_are_told_what_an_organiser_did_to_their_things(
    house: dict[str, Any], cast: Cast, environment: Environment, visit: As
) -> None:
    olga, alice = visit(cast.olga), cast.alice
    agent = factories.agent(alice, environment, "rook")
    olga.post(f"/organise/do/agent/{agent.pk}/disable/", {"reason": "It copies others.", "sure": "yes"})
    assert olga.post(f"/rollouts/{house['rollout']}/cancel/").status_code == 302
    rollout = Rollout.objects.get(public_id=house["rollout"])
    assert told(alice)[-2:] == ["Your agent rook is disabled", f"Your rollout {rollout.pk} was cancelled"]
    text = Notice.objects.get(title="Your agent rook is disabled").text
    assert "Reason: It copies others. An organiser did this" in text
    version = factories.submission(agent)
    olga.post(f"/organise/do/submission/{version.pk}/delete_archives/", {"sure": "yes"})
    assert told(alice)[-1] == f"Your version {version} is deleted; its results stay"
    assert told(cast.olga) == []


def test_people_are_told_of_other_rights(cast: Cast, visit: As) -> None:
    User.objects.filter(pk=cast.olga.pk).update(is_superuser=True)
    form = {"is_staff": "on", "groups": [], "user_permissions": []}
    assert visit(cast.olga).post(f"/admin/core/user/{cast.alice.pk}/change/", form).status_code == 302
    assert told(cast.alice) == ["Your account has other rights: staff status"]


def test_an_act_that_is_refused_is_written_down_as_such(house: dict[str, Any], cast: Cast, visit: As) -> None:
    address = f"/rollouts/{house['rollout']}/judge/"
    for _ in range(2):
        visit(cast.olga).post(address)
    assert AuditEntry.objects.filter(action="judge_again", note__startswith="nothing was done. ").exists()


def test_a_lifted_ban_is_told_once(cast: Cast, visit: As) -> None:
    olga = visit(cast.olga)
    for act in ("ban", "unban"):
        olga.post(f"/organise/do/user/{cast.alice.pk}/{act}/", {"reason": "Cheating.", "sure": "yes"})
    assert told(cast.alice) == ["The organisers opened your account again"]
    assert "An organiser did this" in Notice.objects.get(user=cast.alice).text
