"""What people take with them, and what stays when they leave."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.apps import apps
from django.test import Client
from django.utils import timezone

from core.errors import Refused
from core.models import ApiToken, AuditEntry, Duel, Notice, Rating, Run, Submission, User
from core.moderation.deletion import account_delete
from core.moderation.export import account_data, account_parts
from core.moderation.services import user_unban
from core.people.emails import email_address_ensure
from core.people.services import anonymous_ensure
from core.people.tokens import token_create
from core.sealing import opened
from core.tests import factories
from core.tests.factories import PASSWORD, Cast
from web.conftest import As
from web.tests.arena import Stage

pytestmark = pytest.mark.django_db
EXPORT, DELETE = "/profile/export/", "/profile/delete/"


def logged_in(user: User) -> Client:
    client = Client()
    assert client.post("/login/", {"username": user.email, "password": PASSWORD}).status_code == 302
    return client


def taken(client: Client) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(client.post(EXPORT))))


def test_a_person_has_one_open_export(stage: Stage, cast: Cast) -> None:
    client = logged_in(cast.alice)
    first = client.post(EXPORT)
    refused = client.post(EXPORT)
    assert refused.status_code == 429
    assert "Your data is being sent already." in refused.content.decode()
    assert logged_in(cast.bob).post(EXPORT).status_code == 200
    # It need not be read to its end: a browser that leaves closes it.
    first.close()
    assert zipfile.ZipFile(io.BytesIO(b"".join(client.post(EXPORT)))).testzip() is None


def test_all_that_is_kept_of_a_person_is_one_file(stage: Stage, cast: Cast) -> None:
    factories.notice(cast.alice)
    SocialAccount.objects.create(user=cast.alice, provider="github", uid="17", extra_data={"login": "alice-rl"})
    app, codes = factories.second_factor(cast.alice)
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now(), days=1)
    client = logged_in(cast.alice)
    client.post("/login/code/", {"code": codes[0]})

    archive = taken(client)
    data: dict[str, Any] = json.loads(archive.read("account.json"))

    assert data["account"]["email"] == cast.alice.email
    assert [row["name"] for row in data["agents"]] == [stage.anna.agent.name]
    assert [row["name"] for row in data["api_tokens"]] == ["laptop"]
    assert len(data["duels"]) == Duel.objects.count()
    assert data["logins_of_providers"][0]["extra_data"] == {"login": "alice-rl"}
    assert {row["kind"] for row in data["notices"]} == {"VALIDATED", "ACCESS"}
    names = [f"versions/{stage.environment.slug}/{stage.anna.agent.name}/1.zip"] if stage.anna.archive else []
    assert archive.namelist() == ["account.json", *names]
    for name in names:
        with stage.anna.archive.open("rb") as file:
            assert archive.read(name) == file.read()
    # What opens the account, and what is others', is not in it.
    text = json.dumps(data)
    for secret in (token, opened(app.data["secret"]), cast.alice.password, cast.bob.email, *codes):
        assert secret not in text


def test_an_open_session_alone_takes_and_deletes_nothing(cast: Cast, visit: As) -> None:
    client = visit(cast.alice)
    for answer in (client.post(EXPORT), client.get(DELETE), client.post(DELETE, {"username": "alice"})):
        assert answer["Location"].startswith("/profile/again/")
    cast.alice.refresh_from_db()
    assert cast.alice.is_active


def test_who_leaves_is_not_known_any_more_and_the_results_stay(stage: Stage, cast: Cast) -> None:
    person, duels, agent = cast.alice, Duel.objects.count(), stage.anna.agent
    ratings = list(Rating.objects.order_by("pk").values_list("submission", "value"))
    type(agent).objects.filter(pk=agent.pk).update(description="By Alice of Arenatown")
    email_address_ensure(user=person)
    factories.notice(person)
    Run.objects.filter(pk=factories.run(person, stage.anna, stage.clara).pk).update(player_words=[{"version": "mine"}])
    assert account_data(person)["runs"][0]["player_words"] == [{"version": "mine"}]
    duels += 1
    _, token = token_create(owner=person, name="laptop", now=timezone.now(), days=1)
    SocialAccount.objects.create(user=person, provider="github", uid="17", extra_data={})
    client, elsewhere = logged_in(person), logged_in(person)
    assert "cannot be undone" in client.get(DELETE).content.decode()
    assert "This is not your user name" in client.post(DELETE, {"username": "bob"}).content.decode()

    assert "Your account is deleted" in client.post(DELETE, {"username": "Alice"}, follow=True).content.decode()

    row = User.objects.get(pk=person.pk)
    assert row.username.startswith("deleted-")
    assert (row.email, row.is_active, row.team, row.github) == (f"{row.username}@arena.invalid", False, "", "")
    assert not row.has_usable_password()
    with pytest.raises(Refused, match="deleted this account"):
        user_unban(user=row)
    for kind in (EmailAddress, Authenticator, SocialAccount, ApiToken):
        assert not kind.objects.filter(**{"owner" if kind is ApiToken else "user": person}).exists()
    assert not Notice.objects.filter(user=person).exists()
    assert Run.objects.get(caller=person).player_words == []
    assert not Submission.objects.filter(agent__owner=person, deleted_at=None).exists()
    agent.refresh_from_db()
    assert agent.description == ""
    assert Duel.objects.count() == duels
    assert list(Rating.objects.order_by("pk").values_list("submission", "value")) == ratings

    for session in (client, elsewhere):
        assert session.get("/profile/").status_code == 302
    assert Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert Client().post("/login/", {"username": person.email, "password": PASSWORD}).status_code == 200
    page = Client().get(f"/environments/{stage.environment.slug}/editions/1/").content.decode()
    assert stage.anna.agent.name in page
    assert row.username in page
    assert ">alice<" not in page
    assert Client().get("/users/alice/").status_code == Client().get(f"/users/{row.username}/").status_code == 404
    # Name and address are free again.
    assert factories.user("alice").pk != person.pk


def test_the_audit_log_says_that_an_organiser_left(cast: Cast) -> None:
    factories.user("root", is_staff=True, is_superuser=True)
    logged_in(cast.olga).post(DELETE, {"username": "olga"})
    assert [(row.operator, row.action) for row in AuditEntry.objects.order_by("pk")] == [
        ("olga", "log_in"),
        ("olga", "delete_account"),
    ]
    cast.olga.refresh_from_db()
    assert (cast.olga.is_staff, cast.olga.is_superuser, cast.olga.is_active) == (False, False, False)


def test_the_last_superuser_and_the_account_of_strangers_stay(cast: Cast) -> None:
    page = logged_in(cast.olga).post(DELETE, {"username": "olga"})
    assert (page.status_code, "only account that can change everything" in page.content.decode()) == (422, True)
    for user in (cast.olga, anonymous_ensure()):
        with pytest.raises(Refused):
            account_delete(user=user)
        user.refresh_from_db()
        assert user.is_active


def test_every_part_of_the_file_can_be_read(cast: Cast) -> None:
    assert set(account_data(cast.charlie)) >= {"account", "batches", "rollouts", "sittings", "evaluations", "duels"}


NOT_IN_THE_FILE = {
    "LogEntry": "the audit log takes the place of the admin's own",
    "Team": "its account belongs to no single person; the teams of a person stand with their courses",
}
BY_ORGANISERS = {"created_by", "made_by", "judging_asked_by"}
"""Fields that name who made a row: what organisers do is in the audit log."""


def test_every_kind_of_row_that_has_an_account_is_in_the_file(cast: Cast) -> None:
    taken_along = {rows.model for rows, _ in account_parts(cast.alice).values()}
    missing = {
        kind.__name__
        for kind in apps.get_models()
        for field in kind._meta.concrete_fields
        if field.related_model is User and field.name not in BY_ORGANISERS and kind not in taken_along
    }
    assert missing == set(NOT_IN_THE_FILE)


def test_what_an_organiser_did_is_in_their_file(cast: Cast) -> None:
    data = json.loads(taken(logged_in(cast.olga)).read("account.json"))
    assert [row["action"] for row in data["audit_log"]] == ["log_in", "export_account"]
    assert data["account"]["is_superuser"]
