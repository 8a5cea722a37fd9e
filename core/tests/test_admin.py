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
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from core.models import (
    AuditEntry,
    Build,
    Duel,
    Environment,
    Evaluation,
    JobState,
    LedgerEntry,
    LedgerVoid,
    Rating,
    Recording,
    SeedList,
    Submission,
    Tournament,
    User,
    Validation,
)
from core.selectors.evaluations import practice_list, ranking_list
from core.services.alarms import alarm_raise
from core.services.audit import Operator, audit_record
from core.services.seeds import final_phase_start
from core.services.tokens import token_create
from core.services.watch import watch
from core.services.workers import worker_appear
from core.tests import factories
from core.tests.organising import REASON, act, enter_ledger, ready

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
    factories.recording(
        factories.evaluation(factories.ready(factories.agent(players[0].agent.owner, factories.task())))
    )
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    alarm_raise(key="anna", message="Anna's record does not verify.")
    token_create(owner=players[0].agent.owner, name="anna's laptop", now=timezone.now(), days=1)
    worker_appear(name="anna:1", host="anna", pid=1, queue="duel", version="1", python="3", job_kind="duel", job_id=1)
    watch(worker="anna:1")
    audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "anna"), action="migrate")
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
        task = factories.task(["cart-pole", "frozen-lake"][edition - 1])
        for row in new:
            factories.publication(row)
            evaluated = factories.ready(factories.agent(people.alice, task, f"{row.agent.name}-alone"))
            factories.recording(factories.evaluation(evaluated))
        if edition == 1:
            organiser.get(address)
            with CaptureQueriesContext(connection) as few:
                organiser.get(address)

    with django_assert_max_num_queries(len(few)):
        organiser.get(address)


@pytest.mark.parametrize(
    "model", [LedgerEntry, LedgerVoid, Rating, Duel, Build, Validation, Tournament, Evaluation, Recording, SeedList]
)
def test_what_is_append_only_or_derived_cannot_be_added_changed_or_deleted(
    model: type[Model], organiser: Client, players: list[Submission]
) -> None:
    entry = enter_ledger(factories.tournament(players).duels.earliest("pk"))
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    factories.recording(
        factories.evaluation(factories.ready(factories.agent(players[0].agent.owner, factories.task())))
    )
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
    # What the database would refuse.
    assertContains(organiser.post(address, {**form, "cpu_count": 0}), "This must be more than 0.")
    assertContains(organiser.post(address, {**form, "bank_seconds": -1}), "This must not be below 0.")


LIMITS = ("parallel_matches", "cpu_count", "memory_limit_bytes", "move_seconds", "bank_seconds", "start_seconds",
          "duel_seconds")  # fmt: skip


def test_an_environment_with_one_seat_offers_what_evaluations_need(organiser: Client) -> None:
    task = factories.task(episodes=4)
    address = reverse("admin:core_environment_change", args=[task.pk])
    form = {name: getattr(task, name) for name in LIMITS} | {
        "is_active": "on", "matches_per_validation": 3, "episodes_per_evaluation": 7, "takes_scripts": "on",
    }  # fmt: skip

    page = organiser.get(address)
    assertContains(page, 'name="episodes_per_evaluation"')
    assertContains(page, 'name="takes_scripts"')
    assertNotContains(page, 'name="matches_per_duel"')
    assertContains(organiser.post(address, {**form, "episodes_per_evaluation": 1}), "At least two")
    assert organiser.post(address, form).status_code == 302

    task.refresh_from_db()
    assert (task.episodes_per_evaluation, task.takes_scripts, task.matches_per_duel) == (7, True, 0)
    # The public list follows at once, the one that ranks stays.
    practice, ranking = practice_list(task), ranking_list(task)
    assert practice is not None
    assert ranking is not None
    assert (practice.seeds, len(ranking.seeds)) == ([1, 2, 3], 4)


def test_an_environment_with_two_seats_offers_nothing_of_evaluations(
    organiser: Client, environment: Environment
) -> None:
    page = organiser.get(reverse("admin:core_environment_change", args=[environment.pk]))

    assertContains(page, 'name="matches_per_duel"')
    for name in ("episodes_per_evaluation", "takes_scripts"):
        assertNotContains(page, f'name="{name}"')


@pytest.mark.parametrize("is_superuser", [True, False])
def test_hidden_seeds_are_shown_to_superusers_alone(client: Client, people: factories.Cast, is_superuser: bool) -> None:
    ranking = ranking_list(factories.task())
    assert ranking is not None
    people.olga.is_superuser = is_superuser
    people.olga.save()
    people.olga.user_permissions.add(Permission.objects.get(codename="view_seedlist"))
    client.force_login(people.olga)

    page = client.get(reverse("admin:core_seedlist_change", args=[ranking.pk]))
    found = client.get(reverse("admin:core_seedlist_changelist"), {"q": str(ranking.seeds[0])})

    assertContains(page, ranking.sha256)
    assert (str(ranking.seeds[0]) in page.content.decode()) is is_superuser
    # Nor can anybody find them by looking for them, or by asking in which half they are.
    assertContains(found, "0 seed lists")
    for question in ("seeds__0__gt", "seeds__contains", "seeds"):
        assert client.get(reverse("admin:core_seedlist_changelist"), {question: "1"}).status_code == 400


def test_revealed_seeds_are_shown_to_all_staff(client: Client, people: factories.Cast) -> None:
    task = factories.task()
    before = ranking_list(task)
    assert before is not None
    final_phase_start(environment=task, by=None)
    people.bob.is_staff = True
    people.bob.save()
    people.bob.user_permissions.add(Permission.objects.get(codename="view_seedlist"))
    client.force_login(people.bob)

    assertContains(client.get(reverse("admin:core_seedlist_change", args=[before.pk])), str(before.seeds[0]))


def test_an_account_can_be_made_and_is_closed_by_a_ban_alone(organiser: Client) -> None:
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
    assert dora.is_active
    assert act(organiser, "ban", dora, reason="Uploads viruses.")[-1] == "Dora: is banned."
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
