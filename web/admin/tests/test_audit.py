"""Whatever an organiser does is in the audit log, and stays there."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, connection, transaction
from django.db.models import Model, QuerySet
from django.forms import BaseModelForm
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains
from pytest_django.fixtures import Settings

from arena_kit.tests.environment.edited import zipped
from arena_kit.tests.environment.outside import FOLDERS
from core.addresses import client_address
from core.append_only import unprotected
from core.models import Agent, AuditEntry, Environment, User
from core.moderation.services import agent_disable
from core.people.audit_log import TEXT_LIMIT, Operator, audit_record
from core.tests import applications, factories
from core.tests.organising import act
from tests.databases import rolled_back
from web.tests.organised import one_of_each

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
REASON = "It burns the core."
CHANGES: dict[str, dict[str, str]] = {
    "core.agent": {"is_public": "on"},
    "core.environment": {"move_seconds": "0.75"},
    "core.languagemodel": {"parallel": "2"},
    "core.package": {"note": "checked"},
    "core.season": {"name": "winter"},
    "core.tournamentschedule": {"cron": "0 6 * * 1"},
    "core.user": {"is_staff": "on"},
    "core.webhook": {"name": "talk"},
    "auth.group": {"name": "friends"},
    "django_q.schedule": {"name": "something"},
    "django_q.ormq": {"key": "duel"},
    # They have no field that can be changed; saved, they say so.
    "django_q.success": {},
    "django_q.failure": {},
}
"""Every form by which organisers change a row, with something to change."""
ADDITIONS: dict[str, dict[str, Any]] = {
    "core.user": {
        "email": "dora@arena.example", "username": "dora",
    },
    "core.season": {
        "name": "winter", "begins_at": "2026-12-01T00:00", "ends_at": "2027-03-01T00:00",
    },
    "core.tournamentschedule": {
        "name": "monthly", "cron": "30 6 1 * *", "title": "{schedule}, {date}", "results": "PUBLIC",
        "format": "round-robin", "registration_hours": "48", "freeze_hours": "1", "is_active": "on",
    },
    "core.languagemodel": {
        "name": "small-2", "url": "https://models.example/v1", "model_id": "small", "form": "openai", "parallel": "4",
        "price_in_micros": "0", "price_cached_micros": "0", "price_out_micros": "0", "sampling": "{}", "users": "STAFF",
    },
    "core.package": {"archive": applications.packed(slug="added")},
    "core.environmenttrial": {"archive": SimpleUploadedFile("nim.zip", zipped(FOLDERS / "nim"))},
    "core.webhook": {"name": "talk", "format": "SLACK", "secret_url": "https://hooks.example/", "kinds": "ALARM"},
    "auth.group": {"name": "friends"},
    "django_q.schedule": {
        "func": "web.tests.organised.nothing", "schedule_type": "O", "repeats": "-1", "next_run_0": "2026-01-01",
        "next_run_1": "12:00:00",
    },
}  # fmt: skip
"""Every form by which organisers add a row, filled in."""


@pytest.fixture
def rows(people: factories.Cast, environment: Environment) -> dict[type[Model], Model]:
    return one_of_each(people, environment)


@pytest.fixture
def request_of_olga(people: factories.Cast, rf: RequestFactory) -> Any:
    request = rf.get("/")
    request.user = people.olga
    return request


def page_address(row: Model | type[Model], view: str, *arguments: Any) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=arguments)


def filled_in(form: BaseModelForm[Any]) -> dict[str, Any]:
    """What a browser would send of a form."""
    sent: dict[str, Any] = {}
    for bound in form:
        value = bound.value()
        widgets = getattr(bound.field.widget, "widgets", None)
        if widgets is not None:
            parts = bound.field.widget.decompress(value)
            sent |= {f"{bound.html_name}_{place}": str(part or "") for place, part in enumerate(parts)}
        elif value is not None and value is not False:
            sent[bound.html_name] = value if isinstance(value, list) else str(value)
    return sent


def newest(count_before: int) -> list[AuditEntry]:
    return list(AuditEntry.objects.order_by("pk")[count_before:])


def deeds() -> QuerySet[AuditEntry]:
    """What is in the log, but for the login that a test begins with."""
    return AuditEntry.objects.exclude(action="log_in").order_by("pk")


def contents() -> dict[str, list[dict[str, Any]]]:
    """What is in the database, but for sessions."""
    models = [model for model in apps.get_models() if model is not Session]
    return {model._meta.label: list(model._base_manager.order_by("pk").values()) for model in models}


def test_every_kind_of_row_in_the_admin_is_among_those_that_are_tried(rows: dict[type[Model], Model]) -> None:
    assert set(admin.site._registry) == set(rows)


def test_every_action_of_every_list_is_written_down(
    organiser: Client, request_of_olga: Any, rows: dict[type[Model], Model]
) -> None:
    silent, tried = [], 0
    for model, page in admin.site._registry.items():
        for action in page.get_actions(request_of_olga):
            with rolled_back():
                count = AuditEntry.objects.count()
                form = {"action": action, "_selected_action": [rows[model].pk], "post": "yes"}
                response = organiser.post(page_address(model, "changelist"), form)
                assert response.status_code == 302, (model, action)
                entries = [entry for entry in newest(count) if entry.object_id == str(rows[model].pk)]
                # Django calls it by what it does.
                name = "delete" if action == "delete_selected" else action
                if [(entry.action, entry.operator) for entry in entries] != [(name, "olga")]:
                    silent.append((model._meta.label, action, [str(entry) for entry in newest(count)]))
                tried += 1
    assert silent == []
    assert tried >= 6


def test_nothing_is_done_that_cannot_be_written_down(
    organiser: Client, request_of_olga: Any, rows: dict[type[Model], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise DatabaseError("The disk is full.")

    monkeypatch.setattr("web.admin.audited.audit_record", full)
    # The first use of a session is noted.
    organiser.get(reverse("admin:index"))
    before = contents()
    for model, page in admin.site._registry.items():
        for action in page.get_actions(request_of_olga):
            form = {"action": action, "_selected_action": [rows[model].pk], "post": "yes"}
            with pytest.raises(DatabaseError, match="disk is full"):
                organiser.post(page_address(model, "changelist"), form)
    assert contents() == before


def test_every_form_that_changes_a_row_is_written_down(
    organiser: Client, request_of_olga: Any, rows: dict[type[Model], Model]
) -> None:
    editable = {
        model._meta.label_lower: row
        for model, row in rows.items()
        if admin.site._registry[model].has_change_permission(request_of_olga, row)
    }
    assert set(editable) == set(CHANGES)
    for label, row in editable.items():
        with rolled_back():
            address = page_address(row, "change", row.pk)
            page = organiser.get(address).context
            before = filled_in(page["adminform"].form)
            for inline in page["inline_admin_formsets"]:
                forms = inline.formset.management_form
                before |= {forms.add_prefix(name): forms[name].value() for name in forms.fields if forms[name].value()}
            count = AuditEntry.objects.count()
            response = organiser.post(address, {**before, **CHANGES[label]})
            assert response.status_code == 302, (label, response.context["adminform"].form.errors)
            (entry,) = newest(count)
            assert (entry.action, entry.model, entry.object_id) == ("change", label, str(row.pk))
            assert set(CHANGES[label]) <= set(entry.changes), (label, entry.changes)


def test_every_form_that_adds_a_row_is_written_down(
    organiser: Client, request_of_olga: Any, rows: dict[type[Model], Model], settings: Settings
) -> None:
    settings.ROLLOUTS = "staff"
    addable = {
        model._meta.label_lower: model
        for model in rows
        if admin.site._registry[model].has_add_permission(request_of_olga)
    }
    assert set(addable) == set(ADDITIONS)
    for label, model in addable.items():
        with rolled_back():
            count = AuditEntry.objects.count()
            form = {**ADDITIONS[label], "environment": str(rows[Environment].pk)}
            response = organiser.post(page_address(model, "add"), form)
            is_shown = b"is saved</h1>" in response.content
            assert response.status_code == 302 or is_shown, (label, response.context["adminform"].form.errors)
            (entry,) = newest(count)
            assert (entry.action, entry.model) == ("add", label)
            assert entry.changes
            assert "correct-horse" not in str(entry.changes)


def test_every_deletion_is_written_down_with_what_was_there(
    organiser: Client, request_of_olga: Any, rows: dict[type[Model], Model]
) -> None:
    deleted = []
    for model, row in rows.items():
        if admin.site._registry[model].has_delete_permission(request_of_olga, row):
            with rolled_back():
                count = AuditEntry.objects.count()
                assert organiser.post(page_address(row, "delete", row.pk), {"post": "yes"}).status_code == 302
                entries = newest(count)
                assert [(entry.action, entry.object_id) for entry in entries] == [("delete", str(row.pk))], model
                assert entries[0].changes
                deleted.append(model._meta.label)
    assert {"auth.Group", "mfa.Authenticator", "socialaccount.SocialAccount"} <= set(deleted)


def test_an_entry_says_who_when_what_why_from_where_and_what_changed(
    organiser: Client, people: factories.Cast, environment: Environment
) -> None:
    agent = factories.agent(people.alice, environment, "anna")

    act(organiser, "disable", agent, reason=REASON)

    entry = deeds().get()
    assert (entry.operator, entry.operator_id, entry.channel) == ("olga", people.olga.pk, "SITE")
    assert (entry.action, entry.model, entry.object_id, entry.object_name) == (
        "disable", "core.agent", str(agent.pk), "anna",
    )  # fmt: skip
    assert entry.note == f"is disabled. Reason: {REASON}"
    assert entry.changes == {"is_disabled": [False, True], "disabled_reason": ["", REASON]}
    assert entry.address == "127.0.0.1"
    assert entry.at is not None


def test_each_row_of_an_action_and_its_entry_are_one_transaction(
    organiser: Client, people: factories.Cast, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (factories.agent(people.alice, environment, name=f"agent-{number}") for number in range(2))

    def breaks(*, agent: Agent, reason: str) -> None:
        agent_disable(agent=agent, reason=reason)
        if AuditEntry.objects.filter(action="disable").exists():
            raise RuntimeError("The second row is damaged.")

    monkeypatch.setattr("web.organise.actions.agents.agent_disable", breaks)
    with pytest.raises(RuntimeError):
        act(organiser, "disable", first, second, reason=REASON)
    states = [Agent.objects.get(pk=row.pk).is_disabled for row in (first, second)]
    assert sorted(states) == [False, True]
    (entry,) = deeds().filter(action="disable")
    assert Agent.objects.get(pk=int(entry.object_id)).is_disabled


def test_what_was_refused_is_written_down_as_such(
    organiser: Client, people: factories.Cast, environment: Environment
) -> None:
    act(organiser, "enable", factories.agent(people.alice, environment, "anna"))

    entry = deeds().get()
    assert (entry.action, entry.note, entry.changes) == ("enable", "nothing was done. The agent is not disabled.", {})


def test_a_question_alone_is_no_deed(organiser: Client, people: factories.Cast, environment: Environment) -> None:
    agent = factories.agent(people.alice, environment)

    assert organiser.get(reverse("web:organise_action", args=["agent", agent.pk, "disable"])).status_code == 200

    assert not deeds().exists()


@pytest.mark.both_databases
def test_the_database_refuses_to_change_and_to_delete_entries() -> None:
    entry = audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "root"), action="migrate")
    for attempt in (
        lambda: AuditEntry.objects.filter(pk=entry.pk).update(operator="other"),
        lambda: AuditEntry.objects.all().delete(),
        entry.save,
    ):
        with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
            attempt()
    assert AuditEntry.objects.get().operator == "root"


@pytest.mark.both_databases
def test_a_restore_can_lift_the_protection_for_a_while() -> None:
    entry = audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "root"), action="migrate")
    with unprotected(connection):
        AuditEntry.objects.all().delete()
    entry.save(force_insert=True)
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
        AuditEntry.objects.all().delete()


@pytest.mark.both_databases
def test_an_entry_stays_when_the_account_and_the_row_go(organiser: Client, people: factories.Cast) -> None:
    act(organiser, "delete", people.bob)
    people.olga.delete()

    assert [(entry.operator, entry.object_name) for entry in deeds()] == [("olga", "bob")]
    assert not User.objects.filter(username__in=("olga", "bob")).exists()


@pytest.mark.both_databases
def test_long_and_unstorable_names_do_not_keep_a_deed_out_of_the_log(
    people: factories.Cast, environment: Environment
) -> None:
    agent = Agent(pk=1, name="\x00\ud800" + "x" * 1000, owner=people.alice, environment=environment)

    entry = audit_record(operator=Operator(AuditEntry.Channel.API, "y" * 1000), action="z" * 1000, row=agent)

    assert (len(entry.operator), len(entry.action), entry.object_name[:3]) == (200, 100, "?xx")


@pytest.mark.parametrize(
    ("proxies", "passed_on", "address"),
    [
        (0, "198.51.100.1", "127.0.0.1"),
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        (2, "203.0.113.9, 198.51.100.1, 192.0.2.1", "198.51.100.1"),
        (2, "192.0.2.1", "192.0.2.1"),
        (1, "", "127.0.0.1"),
        # Of an organiser the address itself is kept, not its network.
        (1, "2001:db8::7", "2001:db8::7"),
        (1, "<script>", "127.0.0.1"),
    ],
)
def test_the_address_is_what_trusted_proxies_have_written(
    rf: RequestFactory, settings: Settings, proxies: int, passed_on: str, address: str
) -> None:
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": proxies}
    assert client_address(rf.get("/", headers={"X-Forwarded-For": passed_on}).META) == address


def test_only_superusers_read_the_log(organiser: Client, client: Client, people: factories.Cast) -> None:
    entry = audit_record(
        operator=Operator(AuditEntry.Channel.COMMAND, "<b>root</b>"), action="migrate", note="<script>" * TEXT_LIMIT
    )
    for address in (page_address(AuditEntry, "changelist"), page_address(AuditEntry, "change", entry.pk)):
        page = organiser.get(address)
        assertContains(page, "&lt;b&gt;root&lt;/b&gt;")
        assertNotContains(page, "<script>&")
    people.bob.is_staff = True
    people.bob.save()
    client.logout()
    client.force_login(people.bob)
    assert client.get(page_address(AuditEntry, "changelist")).status_code == 403
