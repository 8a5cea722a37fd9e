"""One row of every kind that organisers have a page for."""

from __future__ import annotations

from datetime import timedelta

from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.contrib.auth.models import Group
from django.db.models import Model
from django.utils import timezone
from django_q.models import Failure, OrmQ, Schedule, Success
from django_q.signing import SignedPackage

from core.courses.teams import team_create
from core.evaluations.selectors import ranking_list
from core.jobs.workers import worker_appear
from core.models import (
    AccountEvent,
    Announcement,
    AuditEntry,
    Course,
    DrillMove,
    Environment,
    FormerName,
    InviteLink,
    LanguageModel,
    LedgerVoid,
    Member,
    RatingPool,
    Registration,
    WorkerHost,
)
from core.notices.alarms import alarm_raise
from core.operations.watchdog import duty_take
from core.people.audit_log import Operator, audit_record
from core.people.tokens import token_create
from core.tests import applications, factories
from core.tests.organising import REASON, enter_ledger, ready

NOTHING = "web.tests.organised.nothing"


def nothing() -> None:
    """What tasks of the tests do."""


def one_of_each(people: factories.Cast, environment: Environment) -> dict[type[Model], Model]:
    """Kind to row: all that the admin shows."""
    players = [ready(people, environment, name) for name in ("anna", "berta", "clara")]
    tournament = factories.tournament(players)
    duel = tournament.duels.earliest("pk")
    entry = enter_ledger(duel)
    blunder = factories.blunder(players[0], duel)
    task = factories.task()
    evaluation = factories.evaluation(factories.ready(factories.agent(people.alice, task, "alone")))
    times = {"started": timezone.now(), "stopped": timezone.now()}
    ledger_void = LedgerVoid.objects.create(duel=entry.duel, reason=REASON)
    anna = players[0]
    hook = factories.webhook()
    former = FormerName.objects.create(environment=environment, agent=anna.agent, name="anna-before")
    rollout = applications.everything(people.alice)
    rows: list[Model | None] = [
        rollout,
        rollout.batch,
        rollout.task,
        rollout.task.file,
        rollout.task.environment.task_sets.get(),
        rollout.package,
        rollout.package.builds.get(),
        rollout.verdicts.get(),
        rollout.worlds.get(),
        LanguageModel.objects.get(),
        hook,
        hook.deliveries.get(),
        former,
        course := Course.objects.create(slug="club", name="Club"),
        member := Member.objects.create(course=course, user=people.alice),
        team_create(course=course, name="robot-builders"),
        course.former_teams.create(user=people.alice, left_at=times["stopped"]),
        week := course.assignments.create(
            environment=environment, name="Week", opens_at=factories.NOON, due_at=times["stopped"]
        ),
        week.baselines.create(agent=anna.agent),
        week.extensions.create(member=member, due_at=times["stopped"]),
        week.marks_by_hand.create(user=people.alice, marks=5, reason="Helped others."),
        Announcement.objects.create(course=course, title="Welcome", text="To robots."),
        InviteLink.objects.create(name="Class 9b", expires_at=timezone.now() + timedelta(days=1)),
        factories.notice(people.alice),
        people.alice.notice_choices.get(),
        people.charlie,
        environment,
        anna.agent,
        anna,
        anna.latest_build,
        anna.latest_validation,
        factories.publication(anna),
        factories.environment_trial(people.alice),
        tournament,
        tournament.participants.first(),
        duel,
        factories.analysis(duel),
        blunder,
        factories.drill(players[1]),
        DrillMove.objects.create(submission=players[1], blunder=blunder, action=4, is_found=True),
        entry,
        ledger_void,
        tournament.participants.earliest("pk").submission.rating,
        RatingPool.objects.get(),
        factories.rating_point(anna, timezone.now()),
        factories.lens(environment),
        factories.letter(),
        factories.error_mail(),
        evaluation,
        factories.recording(evaluation),
        ranking_list(task),
        factories.season(environment),
        factories.schedule(environment),
        Registration.objects.create(tournament=tournament, agent=anna.agent),
        factories.promotion(players[1], players[0]),
        factories.challenge(anna),
        factories.sitting(anna),
        factories.run(people.alice, anna, players[1]),
        alarm_raise(key="anna", message="Anna's record does not verify."),
        AccountEvent.objects.create(user=people.alice, action="log_in"),
        token_create(owner=people.alice, name="anna's laptop", now=timezone.now(), days=1)[0],
        audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "root"), action="migrate"),
        worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3"),
        WorkerHost.objects.create(name="host", provider="local", created_at=timezone.now()),
        duty_take(name="watch", every=timedelta(seconds=30), worker="host:1"),
        AccessAttempt.objects.create(username="bob@arena.example", ip_address="192.0.2.1", failures_since_start=5),
        Group.objects.create(name="helpers"),
        factories.second_factor(people.bob)[0],
        SocialAccount.objects.create(user=people.bob, provider="github", uid="1", extra_data={}),
        Schedule.objects.create(func=NOTHING, name="nothing"),
        Success.objects.create(id="1" * 32, name="done", func=NOTHING, success=True, **times),
        Failure.objects.create(id="2" * 32, name="not done", func=NOTHING, success=False, **times),
        OrmQ.objects.create(
            key="build",
            payload=SignedPackage.dumps({"id": "3" * 32, "name": "x", "func": NOTHING}),
            lock=timezone.now(),
        ),
    ]
    return {type(row): row for row in rows if row is not None}
