"""One row in which something is wrong stops neither the reaper nor the watchdog: all others are looked after."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import Schedule
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django.fixtures import Settings

from core.duels import challenges
from core.duels.challenges import challenges_follow
from core.duels.services import duel_new, duels_enqueue
from core.jobs.kinds import JOB_MODELS
from core.models import (
    Build,
    Challenge,
    ChallengeKind,
    Duel,
    Environment,
    Job,
    JobFault,
    JobState,
    Promotion,
    PromotionState,
    Recording,
    Submission,
    TournamentState,
)
from core.operations import watchdog
from core.operations.reaper import look
from core.tests import applications, factories
from core.tests.working import at_work

pytestmark = pytest.mark.django_db
POISON = 5
"""In the place of a list of attempts."""


def expired(kind: str, version: Submission, rival: Submission) -> list[Job]:
    """Two running jobs of a kind whose workers are dead; the first has a poisoned row."""
    match kind:
        case "duel":
            tournament = factories.tournament([version, rival], state=TournamentState.RUNNING)
            first = tournament.duels.get()
            second = factories.duel(tournament, rival, version, number=9, state=JobState.QUEUED)
            jobs: list[Job] = [first, second]
        case "analysis":
            duel = factories.tournament([version, rival]).duels.get()
            jobs = [factories.analysis(duel, number, JobState.QUEUED) for number in (1, 2)]
        case "recording":
            evaluation = factories.evaluation(scored())
            jobs = [
                factories.recording(evaluation, choice, JobState.QUEUED)
                for choice in (Recording.Choice.BEST, Recording.Choice.WORST)
            ]
        case "evaluation":
            task = scored()
            jobs = [factories.evaluation(task, JobState.QUEUED) for _ in range(2)]
        case "packagebuild":
            jobs = [applications.package(is_built=False, slug=slug).builds.get() for slug in ("one", "two")]
        case "environmenttrial":
            jobs = [factories.environment_trial(version.agent.owner, state=JobState.QUEUED) for _ in range(2)]
        case "rollout":
            desk = applications.package().environment
            jobs = list(applications.batch(version.agent.owner, desk, "count", attempts=2).rollouts.order_by("pk"))
        case _:
            make = {
                "build": factories.build,
                "validation": factories.validation,
                "publication": factories.publication,
                "sitting": factories.sitting,
                "drill": factories.drill,
            }
            jobs = [make[kind](version, JobState.QUEUED) for _ in range(2)]
    rows = JOB_MODELS[kind]._default_manager.filter(pk__in=[job.pk for job in jobs])
    factories.moved(rows, JobState.RUNNING)
    rows.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    rows.filter(pk=jobs[0].pk).update(history=POISON)
    return jobs


def scored() -> Submission:
    return factories.ready(factories.agent(factories.user("sam"), factories.task()))


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


@pytest.fixture
def players(environment: Environment) -> tuple[Submission, Submission]:
    return (
        factories.ready(factories.agent(factories.user("ann"), environment)),
        factories.ready(factories.agent(factories.user("bob"), environment)),
    )


@pytest.mark.parametrize("kind", JOB_MODELS)
def test_a_job_that_cannot_be_given_back_leaves_the_others_their_next_worker(
    kind: str,
    players: tuple[Submission, Submission],
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    settings: Settings,
) -> None:
    settings.QUEUES = (*settings.QUEUES, settings.ROLLOUT_QUEUE)
    poisoned, good = expired(kind, *players)
    with django_capture_on_commit_callbacks(execute=True):
        look()
    for job in (poisoned, good):
        job.refresh_from_db()
    assert (poisoned.state, good.state, good.error_code) == (JobState.RUNNING, JobState.QUEUED, "worker_lost")
    assert at_work()
    assert f"The lease of {kind} {poisoned.pk} could not be updated." in caplog.text
    # It is looked at again after a pause, not every few seconds.
    assert poisoned.lease_expires_at is not None
    assert poisoned.lease_expires_at > timezone.now() + timedelta(minutes=1)


def test_a_job_whose_failure_cannot_be_told_leaves_the_others_to_fail(
    players: tuple[Submission, Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    builds = [factories.build(version, JobState.RUNNING, attempt=99) for version in players]
    running = Build.objects.filter(pk__in=[build.pk for build in builds])
    running.update(lease_expires_at=timezone.now() - timedelta(seconds=1))

    def tell(job: Job) -> None:
        if job.pk == builds[0].pk:
            raise LookupError("No notice can be sent.")

    monkeypatch.setattr("core.submissions.notices.version_failed", tell)
    look()
    for build in builds:
        build.refresh_from_db()
    assert (builds[0].state, builds[1].state) == (JobState.RUNNING, JobState.FAILED)


def test_a_promotion_that_cannot_be_decided_leaves_the_others_their_verdict(
    players: tuple[Submission, Submission], caplog: pytest.LogCaptureFixture
) -> None:
    promotions = []
    for incumbent in players:
        candidate = factories.ready(incumbent.agent)
        row = Promotion.objects.create(candidate=candidate, incumbent=incumbent, test={"no such": "test"})
        duel = duel_new(promotion=row, number=1, player_1=candidate, player_2=incumbent, seed=1, match_count=10)
        duels_enqueue(duels=[duel])  # fmt: skip
        factories.moved(Duel.objects.filter(pk=duel.pk), JobState.FAILED)
        promotions.append(row)
    # The first is to be played again, under a test that there is not; the second is over.
    Submission.objects.filter(pk=promotions[1].candidate_id).update(deleted_at=timezone.now())
    Duel.objects.update(fault=JobFault.PLATFORM)
    look()
    states = [Promotion.objects.get(pk=row.pk).state for row in promotions]
    assert states == [PromotionState.TESTING, PromotionState.CANCELLED]
    assert f"Promotion {promotions[0].pk} could not be updated." in caplog.text


def test_a_schedule_without_minutes_leaves_the_others_their_time() -> None:
    ahead = timezone.now() + timedelta(days=7)
    Schedule.objects.filter(name__in=("artifacts", "watchdog")).update(next_run=ahead)
    Schedule.objects.filter(name="artifacts").update(minutes=None)
    look()
    assert Schedule.objects.get(name="watchdog").next_run <= timezone.now()
    assert Schedule.objects.get(name="artifacts").next_run == ahead


def test_a_challenge_that_cannot_be_told_leaves_the_others_their_end(
    players: tuple[Submission, Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        Challenge.objects.create(user=player.agent.owner, submission=player, kind=ChallengeKind.AGENT)
        for player in players
    ]
    tell = challenges._tell

    def refuse(challenge: Challenge) -> None:
        if challenge.pk == rows[0].pk:
            raise LookupError("No notice can be sent.")
        tell(challenge)

    monkeypatch.setattr(challenges, "_tell", refuse)
    assert challenges_follow() == 1
    assert list(Challenge.objects.filter(ended_at=None)) == [rows[0]]


def test_a_queue_that_cannot_be_watched_leaves_the_others_their_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def refuse(*, queue: str, **_: object) -> None:
        looked.append(queue)
        if queue == "build":
            raise LookupError("It cannot be seen.")

    monkeypatch.setattr(watchdog, "queue_check", refuse)
    assert watchdog.queues_check(worker="host:1")
    assert looked == ["build", "duel", "sitting", "tournament", "publish"]
