"""Both desks, walked: each act of an organiser is under Organise, once, with its entry in the audit log."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.db import DatabaseError
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import reverse

from core.jobs.kinds import JOB_MODELS
from core.models import AuditEntry, Environment
from core.tests import factories
from core.tests.organising import REASON
from tests.databases import rolled_back
from web.organise.actions.registry import KINDS
from web.organise.editors import EDITORS
from web.organise.sheets import SHEETS
from web.tests.organised import one_of_each
from web.tournaments.tests.test_pictures import file_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
JOB = "requeue prioritise cancel"
ACTS = {
    "agent": "disable enable",
    "alarm": "settle",
    "batch": "cancel",
    "delivery": "send_again",
    "environment": "start_tournament start_final_phase begin_term remove_added",
    "package": "build try_tasks rank",
    "seedlist": "reveal",
    "submission": "run_again evaluate_again delete_archives",
    "tournament": "begin_now call_off cancel end_ladder release void_round",
    "user": "ban unban unlock_logins delete",
    "apitoken": "revoke",
    "season": "delete",
    "tournamentschedule": "delete",
    "webhook": "send_test delete",
    "workerhost": "drain",
    **dict.fromkeys(JOB_MODELS, JOB),
    "build": f"{JOB} run_again",
    "validation": f"{JOB} run_again",
    "publication": f"{JOB} run_again",
    "evaluation": f"{JOB} run_again",
    "duel": f"{JOB} void run_again",
}
"""What organisers could do in the admin before it became a room of tables."""
FORMS = {
    "agent",
    "environment",
    "environmenttrial",
    "languagemodel",
    "package",
    "season",
    "tournamentschedule",
    "user",
    "webhook",
}
"""What they could change there by a form; the form of a tournament has a page of its own."""
ONLY_IN_THE_ADMIN = {
    "core.user": "add change",
    "auth.group": "add change delete",
    "axes.accessattempt": "delete",
    "mfa.authenticator": "delete",
    "socialaccount.socialaccount": "delete",
    "django_q.ormq": "change delete",
    "django_q.schedule": "add change delete",
    "django_q.success": "change delete",
    "django_q.failure": "change delete",
}
"""Rights and passwords of accounts, what opens and locks them, the rows of the task queue: no part of a competition."""


@pytest.fixture
def rows(people: factories.Cast, environment: Environment) -> dict[str, Model]:
    found = one_of_each(people, environment)
    return {str(model._meta.model_name): row for model, row in found.items()}


def test_what_could_be_done_in_the_admin_can_be_done_under_organise() -> None:
    done = {name: {action.name for action in kind.actions} for name, kind in KINDS.items()}
    missing = {name: set(acts.split()) - done.get(name, set()) for name, acts in ACTS.items()}
    assert [name for name, acts in missing.items() if acts] == []
    assert set(EDITORS) == FORMS
    assert {sheet.kind for sheet in SHEETS} >= set(JOB_MODELS)


def test_what_only_the_admin_can_do_belongs_to_no_competition(people: factories.Cast, rf: RequestFactory) -> None:
    request: Any = rf.get("/")
    request.user = people.olga
    only: dict[str, str] = {}
    for model, page in admin.site._registry.items():
        label, editor = model._meta.label_lower, EDITORS.get(str(model._meta.model_name))
        may = {
            "add": page.has_add_permission(request),
            "change": page.has_change_permission(request),
            "delete": page.has_delete_permission(request),
        }
        # Where both have a form, it is the same one.
        if editor is not None and label != "core.user":
            assert page.get_form(request, None if editor.may_add else model()) is editor.form
            may |= {"add": may["add"] and not editor.may_add, "change": False}
        acts = " ".join(verb for verb, is_open in may.items() if is_open)
        if acts:
            only[label] = acts
        if label.startswith("core."):
            assert page.get_actions(request) == {}
    assert only == ONLY_IN_THE_ADMIN


def test_every_act_is_written_down_whether_done_or_refused(organiser: Client, rows: dict[str, Model]) -> None:
    silent, tried = [], 0
    for name, kind in KINDS.items():
        for action in kind.actions:
            with rolled_back():
                count = AuditEntry.objects.count()
                address = reverse("web:organise_actions", args=[name, action.name])
                sent = {"row": rows[name].pk, "number": "1", "reason": REASON, "alt": "A cup.", "picture": file_of()}
                answer = organiser.post(address, sent)
                assert answer.status_code == 302, (name, action.name)
                entries = AuditEntry.objects.order_by("pk")[count:]
                if [(one.action, one.operator, one.object_id) for one in entries] != [
                    (action.name, "olga", str(rows[name].pk))
                ]:
                    silent.append((name, action.name))
                tried += 1
    assert silent == []
    assert tried == sum(len(kind.actions) for kind in KINDS.values())


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.nightly)])
def test_no_act_is_done_that_cannot_be_written_down(
    organiser: Client, rows: dict[str, Model], monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """On a push every seventh is tried."""

    def full(**_: object) -> None:
        raise DatabaseError("The disk is full.")

    monkeypatch.setattr("web.organise.acting.audit_record", full)
    acts = [(name, action.name) for name, kind in KINDS.items() for action in kind.actions]
    for name, act in acts[::step]:
        model = type(rows[name])
        before = list(model._default_manager.order_by("pk").values())
        with pytest.raises(DatabaseError, match="disk is full"):
            organiser.post(
                reverse("web:organise_actions", args=[name, act]),
                {"row": rows[name].pk, "number": "1", "reason": REASON, "alt": "A cup.", "picture": file_of()},
            )
        assert list(model._default_manager.order_by("pk").values()) == before, (name, act)


def test_every_list_and_every_form_can_be_opened_and_searched(organiser: Client, rows: dict[str, Model]) -> None:
    for sheet in SHEETS:
        address = reverse(f"web:{sheet.name}")
        for query in ({}, {"q": "anna 7"}, {"q": "\0"}, {"show": "open", "environment": "quarto"}):
            assert organiser.get(address, query).status_code == 200, (sheet.slug, query)
        shown = organiser.get(address, {"show": "all"})
        assert str(rows[sheet.kind].pk) in [str(row.pk) for row, _ in shown.context["table"]], sheet.slug
    for kind, editor in EDITORS.items():
        name, args = ("change", [rows[kind].pk]) if editor.may_change else ("add", [])
        page = organiser.get(reverse(f"web:organise_{name}_{kind}", args=args))
        assert page.status_code == 200, kind
        assert [field for _, fields in page.context["form"].parts() for field in fields], kind
    for kind in JOB_MODELS:
        assert organiser.get(reverse("web:organise_job", args=[kind, rows[kind].pk])).status_code == 200, kind
