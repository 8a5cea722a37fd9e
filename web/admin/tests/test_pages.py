"""What organisers see in the admin, and what they cannot change."""

from __future__ import annotations

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
from pytest_django.asserts import assertContains, assertNotContains

from core.courses.teams import team_create
from core.evaluations.seeds import final_phase_start
from core.evaluations.selectors import ranking_list
from core.jobs.workers import worker_appear
from core.models import (
    Announcement,
    AuditEntry,
    Blunder,
    Build,
    Course,
    DrillMove,
    Duel,
    Environment,
    Evaluation,
    FormerName,
    InviteLink,
    LedgerEntry,
    LedgerVoid,
    Lens,
    Letter,
    Member,
    Rating,
    RatingPoint,
    RatingPool,
    Recording,
    Registration,
    SeedList,
    Submission,
    User,
    Validation,
    WorkerHost,
)
from core.notices.alarms import alarm_raise
from core.operations.watchdog import queues_check
from core.people.audit_log import Operator, audit_record
from core.people.tokens import token_create
from core.tests import applications, factories
from core.tests.organising import REASON, enter_ledger
from web.admin.rows import Rows

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
    factories.drill(players[0])
    blunder = factories.blunder(players[0], entry.duel)
    DrillMove.objects.create(submission=players[0], blunder=blunder, action=4, is_found=True)
    factories.letter()
    factories.error_mail()
    LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    factories.season(tournament.environment, "anna's autumn")
    factories.schedule(tournament.environment, "anna's week")
    Registration.objects.create(tournament=tournament, agent=players[0].agent)
    factories.promotion(players[1], players[0])
    factories.challenge(players[0])
    factories.run(players[0].agent.owner, players[0], players[1], "anna's match")
    factories.rating_point(players[0], timezone.now())
    FormerName.objects.create(environment=players[0].agent.environment, agent=players[0].agent, name="anna-old")
    factories.notice(players[0].agent.owner)
    factories.environment_trial(players[0].agent.owner, "anna")
    factories.webhook("anna's chat")
    InviteLink.objects.create(name="anna's class", expires_at=timezone.now())
    factories.lens(tournament.environment)
    course = Course.objects.create(slug="anna", name="Anna's course")
    member = Member.objects.create(course=course, user=players[0].agent.owner)
    course.former_teams.create(user=member.user, left_at=timezone.now())
    team_create(course=course, name="Annas")
    week = course.assignments.create(
        environment=tournament.environment, name="Anna's week", opens_at=factories.NOON, due_at=timezone.now()
    )
    week.baselines.create(agent=players[0].agent)
    week.extensions.create(member=member, due_at=timezone.now())
    week.marks_by_hand.create(user=member.user, marks=1, reason="Anna helped.")
    Announcement.objects.create(course=course, title="Anna won", text="Well done.")
    applications.everything(players[0].agent.owner)
    alarm_raise(key="anna", message="Anna's record does not verify.")
    token_create(owner=players[0].agent.owner, name="anna's laptop", now=timezone.now(), days=1)
    worker_appear(name="anna:1", host="anna", pid=1, queue="duel", version="1", python="3", job_kind="duel", job_id=1)
    WorkerHost.objects.create(name="anna", provider="local", created_at=timezone.now())
    queues_check(worker="anna:1")
    audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "anna"), action="migrate")

    for model in CORE_MODELS:
        assertContains(organiser.get(changelist(model), {"q": "anna"}), "searchbar", msg_prefix=model.__name__)
        row = model._default_manager.first()
        assert row is not None, model
        page = organiser.get(reverse(f"admin:core_{model._meta.model_name}_change", args=[row.pk]))
        assert page.status_code == 200, model


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


def test_only_superusers_change_accounts_here(client: Client, people: factories.Cast) -> None:
    dora = factories.user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.all())
    client.force_login(dora)
    new = {"usable_password": "true", "password1": "a-very-new-one", "password2": "a-very-new-one"}
    rights = {"is_staff": "on", "is_superuser": "on", "user_permissions": [Permission.objects.all()[0].pk]}
    for person in (people.bob, dora, people.olga):
        assert client.post(reverse("admin:core_user_change", args=[person.pk]), rights).status_code == 403
        assert client.post(reverse("admin:auth_user_password_change", args=[person.pk]), new).status_code == 403
        assert client.post(reverse("admin:core_user_delete", args=[person.pk]), {"post": "yes"}).status_code == 403
    assert client.post(reverse("admin:core_user_add"), {"username": "eve", **new}).status_code == 403
    assert set(User.objects.filter(is_superuser=True)) == {people.olga}
    assert people.bob.check_password(factories.PASSWORD)

    client.force_login(people.olga)
    assert client.post(reverse("admin:core_user_change", args=[people.bob.pk]), rights).status_code == 302
    people.bob.refresh_from_db()
    assert people.bob.is_superuser


def test_a_superuser_makes_an_account_whose_owner_chooses_a_password(organiser: Client) -> None:
    form = {
        "email": "dora@arena.example",
        "username": "dora",
        "team": "Red",
    }
    assert organiser.post(reverse("admin:core_user_add"), form).status_code == 302
    dora = User.objects.get(username="dora")
    assert (dora.email, dora.team, dora.must_confirm_email) == ("dora@arena.example", "Red", True)
    assert not dora.has_usable_password()
    assert (Letter.objects.get().kind, Letter.objects.get().email) == ("INVITATION", dora.email)


def test_an_organiser_with_every_right_reads_and_changes_nothing(
    client: Client, people: factories.Cast, environment: Environment
) -> None:
    """What organisers may change they change under Organise: the forms here are for superusers."""
    dora = factories.user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.all())
    client.force_login(dora)
    for row in (environment, factories.season(environment), factories.agent(people.alice, environment)):
        address = reverse(f"admin:core_{row._meta.model_name}_change", args=[row.pk])
        assertNotContains(client.get(address), 'name="_save"')
        assert client.post(address, {"name": "other"}).status_code == 403


def test_no_filter_in_an_address_finds_what_a_page_hides(client: Client) -> None:
    dora = factories.user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.all())
    client.force_login(dora)
    for kind, lookup in (
        ("webhook", "secret_url__startswith"),
        ("apitoken", "digest__startswith"),
        ("evaluation", "order_secret__startswith"),
        ("evaluation", "seed_list__seeds__0__gt"),
        ("build", "claim_token"),
    ):
        assert client.get(reverse(f"admin:core_{kind}_changelist"), {lookup: "a"}).status_code == 400, kind


def test_rows_of_a_page_are_found_before_others_are_joined_to_them(
    organiser: Client, players: list[Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rows, "list_per_page", 2)
    duel = factories.tournament(players).duels.earliest("pk")
    rows = [factories.blunder(players[0], duel, number) for number in (1, 2, 3)]
    with CaptureQueriesContext(connection) as queries:
        page = organiser.get(changelist(Blunder)).content.decode()
    places = [page.index(f"/core/blunder/{row.pk}/") for row in rows[:0:-1]]
    assert places == sorted(places)
    assert f"/core/blunder/{rows[0].pk}/" not in page
    joined = [query["sql"] for query in queries if 'JOIN "core_duel"' in query["sql"]]
    assert joined
    assert all('"core_blunder"."id" IN (' in sql for sql in joined)
