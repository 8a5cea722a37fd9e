"""What is counted of jobs: every move that was written, once, and nothing that was not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from django.db import IntegrityError, transaction
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily

from arena_kit.environment.records import DuelRecord, MatchRecord, Outcome
from arena_kit.errors import PlatformFault
from core.duels.services import duel_succeed
from core.evaluations.services import evaluation_create, evaluation_fail, evaluation_succeed
from core.jobs.artifacts import DuelArtifacts, EvaluationArtifacts
from core.jobs.control import job_cancel
from core.jobs.lifecycle import job_fail, job_succeed
from core.jobs.workers import worker_appear
from core.models import Alarm, Build, CancelCode, Duel, Evaluation, JobFault, JobState, WorkerHost
from core.monitoring import metrics
from core.monitoring.metrics import MOST_WORDS, OTHER, Words
from core.operations.figures import ArenaFigures
from core.tests import factories
from core.tests.working import perform_one

Rise = Callable[..., float]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rise() -> Rise:
    """How much a figure has risen since this test asked for it first, or began."""
    before = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
    }

    def since(name: str, **labels: str) -> float:
        now = REGISTRY.get_sample_value(name, labels) or 0.0
        return now - before.get((name, tuple(sorted(labels.items()))), 0.0)

    return since


def build() -> Build:
    submission = factories.submission(factories.agent(factories.user("ann"), factories.environment()))
    return factories.build(submission, JobState.QUEUED)


def test_a_job_is_counted_when_it_begins_and_when_it_ends(rise: Rise) -> None:
    perform_one(Build, build().pk, lambda job, _: job_succeed(job=job))
    assert rise("jobs_started_total", kind="build") == 1
    assert rise("jobs_finished_total", kind="build", state="SUCCEEDED", fault="NONE") == 1
    assert rise("job_duration_seconds_count", kind="build") == 1
    assert rise("job_duration_seconds_sum", kind="build") > 0


def test_a_result_that_came_too_late_is_counted_as_refused(rise: Rise) -> None:
    def action(job: Build, _: object) -> None:
        job_cancel(job=Build.objects.get(), code=CancelCode.BY_ORGANISER, reason="Not wanted any more.")
        job_succeed(job=job)

    perform_one(Build, build().pk, action)
    assert rise("jobs_refused_total", kind="build") == 1
    assert rise("jobs_finished_total", kind="build", state="CANCELLED", fault="NONE") == 1
    assert rise("jobs_finished_total", kind="build", state="SUCCEEDED", fault="NONE") == 0


def test_a_result_that_was_rolled_back_is_not_counted_and_its_second_try_once(rise: Rise) -> None:
    row, tries = build(), count(1)

    def action(job: Build, _: object) -> None:
        with transaction.atomic():
            job_succeed(job=job)
            if next(tries) == 1:
                raise IntegrityError("the database went away")

    perform_one(Build, row.pk, action)
    assert rise("jobs_finished_total", kind="build", state="SUCCEEDED", fault="NONE") == 0
    assert rise("jobs_given_back_total", kind="build", reason="internal_error") == 1
    assert rise("platform_faults_total", kind="build", code="internal_error") == 1

    Build.objects.update(not_before=None)
    perform_one(Build, row.pk, action)
    assert rise("jobs_finished_total", kind="build", state="SUCCEEDED", fault="NONE") == 1
    assert rise("jobs_started_total", kind="build") == 2


def test_what_the_engine_fails_is_told_apart(rise: Rise) -> None:
    row = build()

    def trouble(code: str) -> None:
        def action(*_: object) -> None:
            raise PlatformFault("Trouble.", code=code)

        perform_one(Build, row.pk, action)
        Build.objects.update(not_before=None)

    trouble("index_unreachable")
    # Last: on a machine without an engine the worker takes nothing more.
    trouble("engine_unavailable")
    assert rise("engine_errors_total", code="engine_unavailable") == 1
    assert rise("engine_errors_total", code="index_unreachable") == 0
    assert rise("platform_faults_total", kind="build", code="index_unreachable") == 1


def test_a_job_that_is_cancelled_while_it_rests_is_not_one_more_fault_of_the_platform(rise: Rise) -> None:
    row = build()

    def action(*_: object) -> None:
        raise PlatformFault("Trouble.", code="index_unreachable")

    perform_one(Build, row.pk, action)
    row.refresh_from_db()
    job_cancel(job=row, code=CancelCode.BY_ORGANISER, reason="It is built again.")
    assert rise("platform_faults_total", kind="build", code="index_unreachable") == 1
    assert rise("platform_faults_total", kind="build", code="cancelled") == 0
    assert rise("jobs_finished_total", kind="build", state="CANCELLED", fault="NONE") == 1


def test_a_players_fault_is_not_the_platforms(rise: Rise) -> None:
    perform_one(
        Build, build().pk, lambda job, _: job_fail(job=job, fault=JobFault.PLAYER, code="no_wheel", error="No.")
    )
    assert rise("jobs_finished_total", kind="build", state="FAILED", fault="PLAYER") == 1
    assert rise("platform_faults_total", kind="build", code="no_wheel") == 0


def test_a_duel_counts_its_matches_and_moves(rise: Rise) -> None:
    environment = factories.environment()
    ann = factories.user("ann")
    players = [factories.ready(factories.agent(ann, environment)) for _ in range(2)]
    row = factories.duel(factories.tournament(players), players[0], players[1], number=9, state=JobState.QUEUED)
    played = [
        MatchRecord(
            number=number, seed=1, seats=(0, 1), actions=(), outcome=Outcome.DRAW, scores=(0.0, 0.0), move_counts=(5, 4)
        )
        for number in (1, 2, 3)
    ]
    record = DuelRecord(environment=environment.spec_id, seed=1, players=("one", "two"), matches=tuple(played))
    artifacts = DuelArtifacts(3, "duels/records.zip", "", "")
    perform_one(Duel, row.pk, lambda duel, _: duel_succeed(duel=duel, record=record, artifacts=artifacts, log=""))

    env_id = environment.env_id
    assert rise("duels_played_total", env_id=env_id) == 1
    assert rise("matches_played_total", kind="duel", env_id=env_id) == 3
    assert rise("moves_played_total", kind="duel", env_id=env_id) == 27


def test_evaluations_are_counted_by_the_names_that_dashboards_know(rise: Rise) -> None:
    task = factories.task()
    submission = factories.ready(factories.agent(factories.user("ann"), task))

    def good(evaluation: Evaluation, _: object) -> None:
        rows = [(number, 1.0, 10, 0.01) for number in (1, 2, 3, 4)]
        evaluation_succeed(evaluation=evaluation, episodes=rows, runtime="", artifacts=EvaluationArtifacts(), log="")

    def bad(evaluation: Evaluation, _: object) -> None:
        evaluation_fail(
            evaluation=evaluation, episodes=[], artifacts=EvaluationArtifacts(), code="player_died", error="", log=""
        )

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    perform_one(Evaluation, evaluation_create(submission=submission).pk, good)
    perform_one(Evaluation, evaluation_create(submission=submission).pk, bad)
    script = evaluation_create(submission=submission)
    Evaluation.objects.filter(pk=script.pk).update(is_verified=False, seed_list=None)
    perform_one(Evaluation, script.pk, bad)
    hopeless = evaluation_create(submission=submission)
    Evaluation.objects.filter(pk=hopeless.pk).update(attempt=99)
    perform_one(Evaluation, hopeless.pk, broken)

    assert rise("evaluation_started_total") == 4
    assert rise("evaluation_completed_total", env_id=task.env_id) == 1
    assert rise("evaluation_duration_seconds_count", env_id=task.env_id) == 1
    assert rise("evaluation_duration_seconds_bucket", env_id=task.env_id, le="600.0") == 1
    assert rise("evaluation_failed_total", reason="player_died") == 1
    assert rise("evaluation_failed_total", reason="script_error") == 1
    assert rise("evaluation_failed_total", reason="unexpected_exception") == 1
    assert rise("moves_played_total", kind="evaluation", env_id=task.env_id) == 40


def test_counting_that_fails_harms_no_job(rise: Rise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "JOBS_STARTED", None)
    monkeypatch.setattr(metrics, "JOBS_FINISHED", None)
    row = build()
    perform_one(Build, row.pk, lambda job, _: job_succeed(job=job))
    row.refresh_from_db()
    assert row.state == JobState.SUCCEEDED


def test_a_label_has_an_end_to_its_values() -> None:
    words = Words()
    assert [words.of(f"word-{number}") for number in range(MOST_WORDS)] == [f"word-{n}" for n in range(MOST_WORDS)]
    assert words.of("one more") == OTHER
    assert words.of("word-0") == "word-0"


def figures() -> dict[str, dict[tuple[str, ...], float]]:
    found = {}
    for family in ArenaFigures().collect():
        assert isinstance(family, GaugeMetricFamily)
        found[family.name] = {tuple(sample.labels.values()): sample.value for sample in family.samples}
    return found


def test_what_waits_runs_and_lives_is_shown_as_it_is_now() -> None:
    row = build()
    Build.objects.update(created_at=row.created_at - timedelta(days=366))
    worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")
    WorkerHost.objects.create(name="h", provider="local", created_at=row.created_at)
    Alarm.objects.create(key="x", message="Look.", raised_at=row.created_at)
    Alarm.objects.create(key="y", message="Seen.", raised_at=row.created_at, settled_at=row.created_at)

    found = figures()
    assert found["jobs_open"]["build", "QUEUED"] == 1
    assert found["jobs_open"]["duel", "RUNNING"] == 0
    assert found["queue_oldest_waiting_seconds"]["build",] > 364 * 86400
    assert found["queue_oldest_waiting_seconds"]["duel",] == 0
    assert (found["workers_alive"]["duel",], found["workers_alive"]["build",]) == (1, 0)
    assert found["alarms_open"][()] == 1
    assert found["component_healthy"]["database",] == 1
    assert found["scaler_hosts"] == {("CREATING",): 1, ("READY",): 0, ("DRAINING",): 0}

    # A delayed job does not count as waiting.
    Build.objects.update(not_before="2999-01-01T00:00Z")
    assert figures()["queue_oldest_waiting_seconds"]["build",] == 0
    assert figures()["jobs_open"]["build", "QUEUED"] == 1
