"""What organisers see in the admin, and what they cannot change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from core.evaluations.seeds import final_phase_start
from core.evaluations.selectors import ranking_list
from core.jobs.workers import worker_appear
from core.models import (
    AuditEntry,
    Build,
    Duel,
    Environment,
    Evaluation,
    InviteLink,
    JobState,
    LedgerEntry,
    LedgerVoid,
    Lens,
    Rating,
    RatingPoint,
    RatingPool,
    Recording,
    Registration,
    SeedList,
    Submission,
    Tournament,
    TournamentState,
    User,
    Validation,
    WorkerHost,
)
from core.notices.alarms import alarm_raise
from core.operations.watchdog import watch
from core.people.audit_log import Operator, audit_record
from core.people.tokens import token_create
from core.tests import applications, factories
from core.tests.organising import REASON, act, enter_ledger
from core.times import moment

pytestmark = pytest.mark.django_db
DERIVED = frozenset({
    "ledger", "ledgerchange", "followedstrike", "ledgersums", "livecheckpoint", "liverating", "pairtotal",
    "plan", "planstage", "planmeeting", "planrow", "sittingmove", "analysedposition",
    # They are thrown away.
    "toldmoves", "watchedduel",
})  # fmt: skip
"""Rows that workers keep for themselves: what they hold is shown where it belongs, on boards and brackets."""
CLOSED: tuple[type[Model], ...] = (
    LedgerEntry,
    LedgerVoid,
    Lens,
    Rating,
    RatingPoint,
    RatingPool,
    Duel,
    Build,
    Validation,
    Evaluation,
    Recording,
    SeedList,
)
CORE_MODELS = [model for model in apps.get_app_config("core").get_models() if model._meta.model_name not in DERIVED]


def changelist(model: type[Model]) -> str:
    return reverse(f"admin:core_{model._meta.model_name}_changelist")


def test_every_model_of_the_arena_has_a_page() -> None:
    assert [model for model in CORE_MODELS if not admin.site.is_registered(model)] == []


@pytest.mark.slow
def test_lists_details_search_and_dates_can_be_opened(organiser: Client, players: list[Submission]) -> None:
    tournament = factories.tournament(players)
    entry = enter_ledger(tournament.duels.earliest("pk"))
    factories.publication(players[0])
    factories.recording(
        factories.evaluation(factories.ready(factories.agent(players[0].agent.owner, factories.task())))
    )
    factories.sitting(players[0])
    factories.analysis(entry.duel)
    factories.letter()
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    factories.season(tournament.environment, "anna's autumn")
    factories.schedule(tournament.environment, "anna's week")
    Registration.objects.create(tournament=tournament, agent=players[0].agent)
    factories.promotion(players[1], players[0])
    factories.challenge(players[0])
    factories.run(players[0].agent.owner, players[0], players[1], "anna's match")
    factories.rating_point(players[0], timezone.now())
    factories.notice(players[0].agent.owner)
    factories.webhook("anna's chat")
    InviteLink.objects.create(name="anna's class", expires_at=timezone.now())
    factories.lens(tournament.environment)
    applications.everything(players[0].agent.owner)
    alarm_raise(key="anna", message="Anna's record does not verify.")
    token_create(owner=players[0].agent.owner, name="anna's laptop", now=timezone.now(), days=1)
    worker_appear(name="anna:1", host="anna", pid=1, queue="duel", version="1", python="3", job_kind="duel", job_id=1)
    WorkerHost.objects.create(name="anna", provider="local", created_at=timezone.now())
    watch(worker="anna:1")
    audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "anna"), action="migrate")

    for model in CORE_MODELS:
        assertContains(organiser.get(changelist(model), {"q": "anna"}), "searchbar", msg_prefix=model.__name__)
        row = model._default_manager.first()
        assert row is not None, model
        page = organiser.get(reverse(f"admin:core_{model._meta.model_name}_change", args=[row.pk]))
        assert page.status_code == 200, model


@pytest.mark.both_databases
def test_planned_tournaments_stand_first_on_every_database(organiser: Client, players: list[Submission]) -> None:
    factories.tournament(players)
    planned = factories.planned(players[0].agent.environment)
    page = organiser.get(reverse("admin:core_tournament_changelist"))
    assert page.context["cl"].result_list[0] == planned


@pytest.mark.slow
def test_what_is_append_only_or_derived_cannot_be_added_changed_or_deleted(
    organiser: Client, players: list[Submission]
) -> None:
    entry = enter_ledger(factories.tournament(players).duels.earliest("pk"))
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    factories.recording(
        factories.evaluation(factories.ready(factories.agent(players[0].agent.owner, factories.task())))
    )
    factories.rating_point(players[0], timezone.now())
    factories.lens(players[0].agent.environment)
    for model in CLOSED:
        row = model._default_manager.all()[0]
        before = model._default_manager.filter(pk=row.pk).values().get()
        name = model._meta.model_name
        change = reverse(f"admin:core_{name}_change", args=[row.pk])
        other = {"state": "QUEUED", "wins": 99, "value": 9999, "reason": "other"}

        assert organiser.get(reverse(f"admin:core_{name}_add")).status_code == 403, name
        assert organiser.post(change, other).status_code == 403, name
        deleted = organiser.post(reverse(f"admin:core_{name}_delete", args=[row.pk]), {"post": "yes"})
        assert deleted.status_code == 403, name
        act_on_list = organiser.post(
            reverse(f"admin:core_{name}_changelist"),
            {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
        )
        assert act_on_list.status_code in (200, 302), name
        assert model._default_manager.filter(pk=row.pk).values().get() == before, name


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


def test_managers_of_people_appoint_no_organiser_and_take_no_organiser_s_account(
    client: Client, people: factories.Cast
) -> None:
    dora = factories.user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.filter(codename__in=("change_user", "delete_user")))
    client.force_login(dora)
    new = {"usable_password": "true", "password1": "a-very-new-one", "password2": "a-very-new-one"}
    rights = {"is_staff": "on", "is_superuser": "on", "user_permissions": [Permission.objects.all()[0].pk]}

    def change(person: User) -> int:
        form = {"email": f"new-{person.email}", "username": person.username, **rights}
        return client.post(reverse("admin:core_user_change", args=[person.pk]), form).status_code

    assert [change(person) for person in (people.bob, dora, people.olga)] == [302, 302, 403]
    for person, status in ((people.bob, 302), (people.olga, 403)):
        assert client.post(reverse("admin:auth_user_password_change", args=[person.pk]), new).status_code == status
    assert client.post(reverse("admin:core_user_delete", args=[people.olga.pk]), {"post": "yes"}).status_code == 403

    found = {row.username: row for row in User.objects.all()}
    assert {name for name, row in found.items() if row.is_staff} == {"dora", "olga"}
    assert {name for name, row in found.items() if row.is_superuser} == {"olga"}
    assert {name for name, row in found.items() if row.email.startswith("new-")} == {"bob", "dora"}
    assert not found["bob"].user_permissions.exists()
    assert found["bob"].check_password("a-very-new-one")
    assert found["olga"].check_password(factories.PASSWORD)


def test_rights_and_schedules_are_closed_to_an_organiser_with_every_right(client: Client) -> None:
    dora = factories.user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.all())
    client.force_login(dora)
    reserved = ("admin:auth_group", "admin:django_q_schedule")
    # A schedule runs whatever function it names.
    form = {"func": "os.system", "args": "'id'", "schedule_type": "O", "repeats": -1}

    statuses = {
        (name, page): client.post(reverse(f"{name}_{page}"), form).status_code if page == "add" else
        client.get(reverse(f"{name}_{page}")).status_code
        for name in (*reserved, "admin:core_agent") for page in ("changelist", "add")
    }  # fmt: skip

    assert {page for page, status in statuses.items() if status != 403} == {("admin:core_agent", "changelist")}
    assertNotContains(client.get(reverse("admin:index")), "/admin/auth/group/")


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
    # Neither a search nor a comparison by halves finds them.
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
    assert act(organiser, "ban", dora, reason="Uploads viruses.")[-1] == "dora is banned."
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


def test_screen_readers_are_told_which_moment_a_date_and_a_time_belong_to(organiser: Client) -> None:
    page = organiser.get(reverse("admin:core_tournament_add"))
    for name in ("Registration opens at", "Registration closes at", "Freezes at", "Starts at"):
        assertContains(page, f'aria-label="{name}: date"')
        assertContains(page, f'aria-label="{name}: time"')


def test_moments_are_written_as_on_the_site(organiser: Client, environment: Environment) -> None:
    morning, evening = datetime(2126, 3, 1, 3, 13, tzinfo=UTC), datetime(2126, 3, 1, 18, 5, tzinfo=UTC)
    cup = factories.planned(environment, registration_closes_at=morning, starts_at=evening)
    assertContains(organiser.get(reverse("admin:core_tournament_changelist")), "1 Mar 2126, 18:05 UTC")
    Tournament.objects.update(state=TournamentState.CANCELLED, ended_at=morning)
    page = organiser.get(reverse("admin:core_tournament_change", args=[cup.pk]))
    for at in (morning, evening):
        assertContains(page, moment(at))
