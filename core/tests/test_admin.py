"""What organisers see, and what nobody can change."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from core.models import (
    Build,
    Duel,
    Environment,
    JobState,
    LedgerEntry,
    LedgerVoid,
    Rating,
    Submission,
    Tournament,
    User,
    Validation,
)
from core.services.alarms import alarm_raise
from core.tests import factories
from core.tests.organising import REASON, enter_ledger, ready

pytestmark = pytest.mark.django_db
CORE_MODELS = list(apps.get_app_config("core").get_models())


def test_every_model_of_the_arena_has_a_page() -> None:
    assert [model for model in CORE_MODELS if not admin.site.is_registered(model)] == []


@pytest.mark.parametrize("model", CORE_MODELS, ids=lambda model: model.__name__)
def test_lists_details_search_and_dates_can_be_opened(
    model: type[Model], organiser: Client, players: list[Submission]
) -> None:
    tournament = factories.tournament(players)
    entry = enter_ledger(tournament.duels.earliest("pk"))
    factories.publication(players[0])
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    alarm_raise(key="anna", message="Anna's record does not verify.")
    address = reverse(f"admin:core_{model._meta.model_name}_changelist")

    assertContains(organiser.get(address), "result_list")
    assertContains(organiser.get(address, {"q": "anna"}), "searchbar")
    row = model._default_manager.first()
    assert row is not None
    assert organiser.get(reverse(f"admin:core_{model._meta.model_name}_change", args=[row.pk])).status_code == 200


@pytest.mark.parametrize("model", CORE_MODELS, ids=lambda model: model.__name__)
def test_lists_ask_the_database_equally_often_for_few_and_many_rows(
    model: type[Model],
    organiser: Client,
    people: factories.Cast,
    environment: Environment,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    address = reverse(f"admin:core_{model._meta.model_name}_changelist")
    for edition in (1, 2):
        new = [ready(people, environment, f"{name}{edition}") for name in ("anna", "berta", "clara")]
        for duel in factories.tournament(new, edition=edition).duels.all():
            enter_ledger(duel)
            LedgerVoid.objects.create(duel=duel, reason=REASON, created_by=people.olga)
        for row in new:
            factories.publication(row)
        if edition == 1:
            organiser.get(address)
            with CaptureQueriesContext(connection) as few:
                organiser.get(address)

    with django_assert_max_num_queries(len(few)):
        organiser.get(address)


@pytest.mark.parametrize("model", [LedgerEntry, LedgerVoid, Rating, Duel, Build, Validation, Tournament])
def test_what_is_append_only_or_derived_cannot_be_added_changed_or_deleted(
    model: type[Model], organiser: Client, players: list[Submission]
) -> None:
    entry = enter_ledger(factories.tournament(players).duels.earliest("pk"))
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    row = model._default_manager.all()[0]
    before = model._default_manager.filter(pk=row.pk).values().get()
    name = model._meta.model_name
    change = reverse(f"admin:core_{name}_change", args=[row.pk])

    assert organiser.get(reverse(f"admin:core_{name}_add")).status_code == 403
    assert organiser.post(change, {"state": "QUEUED", "wins": 99, "value": 9999, "reason": "other"}).status_code == 403
    assert organiser.post(reverse(f"admin:core_{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    act_on_list = organiser.post(
        reverse(f"admin:core_{name}_changelist"),
        {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
    )
    assert act_on_list.status_code in (200, 302)
    assert model._default_manager.filter(pk=row.pk).values().get() == before


def test_people_who_are_not_staff_are_sent_to_the_login(client: Client, people: factories.Cast) -> None:
    client.force_login(people.alice)

    response = client.get(reverse("admin:core_duel_changelist"))

    assert response.status_code == 302
    assert "login" in response["Location"]


def test_staff_that_may_only_look_is_offered_no_actions(
    client: Client, people: factories.Cast, players: list[Submission]
) -> None:
    duel = factories.tournament(players).duels.earliest("pk")
    people.bob.is_staff = True
    people.bob.save()
    people.bob.user_permissions.add(Permission.objects.get(codename="view_duel"))
    client.force_login(people.bob)

    address = reverse("admin:core_duel_changelist")

    client.post(address, {"action": "void", "_selected_action": [duel.pk], "answered": "1", "reason": REASON})

    page = client.get(address)
    assertContains(page, "anna")
    assertNotContains(page, 'name="action"')
    assert not LedgerVoid.objects.exists()


def test_an_environment_keeps_its_rules_and_an_even_number_of_matches(
    organiser: Client, environment: Environment
) -> None:
    fields = ("matches_per_duel", "matches_per_validation", "parallel_matches", "cpu_count", "memory_limit_bytes",
              "move_seconds", "bank_seconds", "start_seconds", "duel_seconds")  # fmt: skip
    form = {name: getattr(environment, name) for name in fields} | {"is_active": "on"}
    address = reverse("admin:core_environment_change", args=[environment.pk])

    assertContains(organiser.post(address, {**form, "matches_per_duel": 7}), "this must be an even number")
    assert organiser.post(address, {**form, "matches_per_duel": 8, "slug": "chess"}).status_code == 302
    environment.refresh_from_db()
    assert (environment.matches_per_duel, environment.slug) == (8, "tic-tac-toe")


def test_an_account_can_be_made_and_closed(organiser: Client) -> None:
    made = organiser.post(
        reverse("admin:core_user_add"),
        {
            "email": "dora@arena.example", "username": "dora", "team": "Red", "usable_password": "true",
            "password1": factories.PASSWORD, "password2": factories.PASSWORD,
        },
    )  # fmt: skip
    assert made.status_code == 302
    dora = User.objects.get(username="dora")
    assert (dora.email, dora.team) == ("dora@arena.example", "Red")
    organiser.post(
        reverse("admin:core_user_change", args=[dora.pk]), {"email": dora.email, "username": "dora", "team": "Red"}
    )
    dora.refresh_from_db()
    assert not dora.is_active


def test_lists_say_how_long_a_job_took(organiser: Client, players: list[Submission]) -> None:
    Build.objects.update(started_at=factories.NOON, ended_at=factories.NOON + timedelta(seconds=75))

    assertContains(organiser.get(reverse("admin:core_build_changelist")), "0:01:15")


def test_a_jobs_page_shows_what_forms_may_not_hold(organiser: Client, players: list[Submission]) -> None:
    build = factories.build(players[0], JobState.FAILED, log="<b>step 1</b>", worker="worker-9")

    page = organiser.get(reverse("admin:core_build_change", args=[build.pk]))

    for text in ("failed", "worker-9", "step() raised ValueError", "&lt;b&gt;step 1&lt;/b&gt;"):
        assertContains(page, text)
    assertNotContains(page, 'name="_save"')
