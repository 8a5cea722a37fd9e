from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.errors import PlatformFault
from core.jobs import lease as leases
from core.jobs import lifecycle as jobs
from core.jobs import stopping, worker, written
from core.jobs.control import job_requeue
from core.jobs.heartbeat import activity
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_claim, job_fail, job_give_back, job_succeed
from core.jobs.selectors import attempts_of
from core.jobs.states import StaleJob, transition
from core.jobs.stopping import ask_to_stop
from core.jobs.worker import Performed, step
from core.jobs.written import written_once
from core.models import Build, JobFault, JobState, Submission
from core.operations.expiry import jobs_requeue_expired
from core.tests import factories
from core.tests.working import perform_one

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def build(submission: Submission) -> Build:
    return factories.build(submission, JobState.QUEUED)


@pytest.fixture
def submission() -> Submission:
    return factories.submission(factories.agent(factories.user("ann"), factories.environment()))


@pytest.fixture(autouse=True)
def works_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test asks to stop is not this process for ever."""
    monkeypatch.setattr(stopping, "_asked_at", None)


@pytest.fixture
def no_grace(settings: Settings) -> None:
    settings.STOP_GRACE_SECONDS = 0


@pytest.mark.usefixtures("no_grace")
def test_a_worker_that_shall_stop_gives_back_what_it_does_without_using_up_an_attempt(build: Build) -> None:
    def action(job: Build, lease: Lease) -> None:
        lease.log("half done")
        ask_to_stop()
        lease.raise_if_lost()
        pytest.fail("it went on")

    assert perform_one(Build, build.pk, action) is Performed.GIVEN_BACK

    build.refresh_from_db()
    assert (build.state, build.attempt, build.claim_token) == (JobState.QUEUED, 0, None)
    assert (build.fault, build.error_code, build.log) == (JobFault.NONE, "worker_stopped", "half done")
    assert [(attempt.number, attempt.code) for attempt in attempts_of(build)] == [(1, "worker_stopped")]


def test_what_ends_within_half_of_the_grace_is_finished_by_the_worker_that_shall_stop(
    build: Build, settings: Settings
) -> None:
    settings.STOP_GRACE_SECONDS = 10_000

    def action(job: Build, lease: Lease) -> None:
        ask_to_stop()
        lease.raise_if_lost()
        job_succeed(job=job)

    assert perform_one(Build, build.pk, action) is Performed.DONE
    build.refresh_from_db()
    assert build.state == JobState.SUCCEEDED


@pytest.mark.usefixtures("no_grace")
def test_what_does_not_look_whether_it_shall_stop_loses_its_job_within_the_grace(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LOOK_SECONDS", 0.01)

    def action(job: Build, lease: Lease) -> None:
        lease.log("deaf")
        ask_to_stop()
        assert lease.lost.wait(30)
        job_succeed(job=job)

    perform_one(Build, build.pk, action)

    build.refresh_from_db()
    assert (build.state, build.attempt, build.error_code, build.log) == (JobState.QUEUED, 0, "worker_stopped", "deaf")


def test_a_worker_that_shall_stop_begins_nothing(build: Build) -> None:
    ask_to_stop()
    assert step("build") is Performed.NOTHING
    build.refresh_from_db()
    assert (build.state, build.attempt, build.history) == (JobState.QUEUED, 0, [])


@pytest.mark.usefixtures("no_grace")
def test_attempts_that_the_platform_has_used_stay_used(build: Build) -> None:
    perform_one(Build, build.pk, lambda job, _: job_give_back(job=job, code="engine_down", error="No engine."))
    Build.objects.update(not_before=None)

    def action(job: Build, lease: Lease) -> None:
        ask_to_stop()
        lease.raise_if_lost()

    perform_one(Build, build.pk, action)
    build.refresh_from_db()
    assert build.attempt == 1
    assert [(attempt.number, attempt.code) for attempt in attempts_of(build)] == [
        (1, "engine_down"),
        (2, "worker_stopped"),
    ]


def test_a_result_that_comes_too_late_is_refused_and_not_done(build: Build) -> None:
    def action(job: Build, lease: Lease) -> None:
        job_requeue(job=Build.objects.get(), reason="The worker hangs.")
        job_succeed(job=job)

    done = activity.jobs_done
    assert perform_one(Build, build.pk, action) is Performed.REFUSED
    assert activity.jobs_done == done


class TestAHeartbeatThatFails:
    def test_is_tried_again_soon_with_all_that_is_new(
        self, build: Build, monkeypatch: pytest.MonkeyPatch, settings: Settings
    ) -> None:
        # A quarter of it is longer than the test's patience.
        settings.JOB_LEASE_SECONDS = 10_000
        monkeypatch.setattr(leases, "LOOK_SECONDS", 0.01)
        beaten, failures = threading.Event(), [OperationalError("cut")]

        def beat(**news: object) -> None:
            if failures:
                raise failures.pop()
            told.append(news["log"])
            beaten.set()

        told: list[object] = []
        monkeypatch.setattr(leases, "job_heartbeat", beat)
        with Lease(build) as lease:
            lease.log("half done")
            assert beaten.wait(30)
        assert told == ["half done"]


class TestAnOutage:
    """It meets every job, so it must not use up the attempts of all of them."""

    def test_a_worker_in_trouble_leaves_jobs_alone_until_it_is_over(
        self, build: Build, submission: Submission, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        down = [True]
        monkeypatch.setattr(worker, "_trouble", None)
        monkeypatch.setitem(worker.PERSISTS, "engine_unavailable", lambda: down[0])

        def make(job: Build, lease: Lease) -> None:
            if down[0]:
                raise PlatformFault("No engine answers.", code="engine_unavailable")
            job_succeed(job=job)

        monkeypatch.setattr("builder.tasks.build_image", make)
        assert step("build") is Performed.GIVEN_BACK
        other = factories.build(submission, JobState.QUEUED)
        assert step("build") is Performed.NOTHING
        other.refresh_from_db()
        assert (other.state, other.attempt) == (JobState.QUEUED, 0)

        down[0] = False
        assert step("build") is Performed.DONE

    @pytest.mark.parametrize(
        "error", [OperationalError("server closed the connection"), RuntimeError("A listener is broken.")]
    )
    def test_an_error_when_a_job_is_given_back_leaves_it_to_its_lease(
        self, build: Build, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(**_: object) -> None:
            raise error

        monkeypatch.setattr(worker, "job_give_back", fails)
        assert perform_one(Build, build.pk, lambda *_: 1 / 0) is Performed.GIVEN_BACK  # type: ignore[arg-type]
        build.refresh_from_db()
        assert (build.state, build.attempt) == (JobState.RUNNING, 1)


class TestWritingAResult:
    """While the database is away it is tried again."""

    @pytest.fixture(autouse=True)
    def in_no_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(written, "WRITE_AGAIN_SECONDS", (0.0, 0.0, 0.0))

    def running(self, build: Build) -> Build:
        job = job_claim(kind=Build, job_id=build.pk, worker="one")
        assert job is not None
        return job

    def test_a_result_is_written_when_the_database_is_back(self, build: Build) -> None:
        failures = [OperationalError("cut"), InterfaceError("closed"), DatabaseError("server closed the connection")]

        @written_once
        def write(*, build: Build) -> None:
            with transaction.atomic():
                job_succeed(job=build)
                if failures:
                    raise failures.pop()

        write(build=self.running(build))
        build.refresh_from_db()
        assert (build.state, failures) == (JobState.SUCCEEDED, [])

    @pytest.mark.parametrize(
        "end", [job_succeed, partial(job_fail, fault=JobFault.PLAYER, code="refused", error="No.")]
    )
    def test_so_is_the_end_of_a_job_that_has_no_result_but_its_own(
        self, build: Build, monkeypatch: pytest.MonkeyPatch, end: Callable[..., None]
    ) -> None:
        job, write, failures = self.running(build), transition, [OperationalError("cut")]

        def cut(*arguments: Any, **named: Any) -> None:
            if failures:
                raise failures.pop()
            write(*arguments, **named)

        monkeypatch.setattr(jobs, "transition", cut)
        end(job=job)
        build.refresh_from_db()
        assert build.is_over

    def test_a_result_whose_commit_was_not_confirmed_is_not_written_again(self, build: Build) -> None:
        calls = []

        @written_once
        def write(*, build: Build) -> None:
            calls.append(build.pk)
            job_succeed(job=build)
            raise OperationalError("the answer was lost")

        write(build=self.running(build))
        assert len(calls) == 1 + 1
        build.refresh_from_db()
        assert build.state == JobState.SUCCEEDED

    def test_a_result_that_another_worker_was_quicker_with_is_refused(self, build: Build) -> None:
        late = self.running(build)

        @written_once
        def write(*, build: Build) -> None:
            if late.state == JobState.RUNNING and not taken:
                taken.append(True)
                job_requeue(job=Build.objects.get(), reason="lost")
                job_succeed(job=self.running(build))
                raise OperationalError("cut")
            job_succeed(job=build)

        taken: list[bool] = []
        with pytest.raises(StaleJob):
            write(build=late)

    def test_a_result_that_comes_after_the_end_of_the_last_lease_is_refused(
        self, build: Build, settings: Settings
    ) -> None:
        settings.JOB_MAX_ATTEMPTS = 1
        late = self.running(build)

        @written_once
        def write(*, build: Build) -> None:
            if not Build.objects.filter(state=JobState.FAILED).exists():
                Build.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
                assert jobs_requeue_expired() == 1
                raise OperationalError("cut")
            job_succeed(job=build)

        with pytest.raises(StaleJob):
            write(build=late)

    def test_what_the_database_refuses_is_not_tried_again(self, build: Build) -> None:
        calls = []

        @written_once
        def write(*, build: Build) -> None:
            calls.append(build.pk)
            raise IntegrityError("twice")

        with pytest.raises(IntegrityError):
            write(build=self.running(build))
        assert len(calls) == 1

    def test_a_database_that_stays_away_is_an_error(self, build: Build) -> None:
        @written_once
        def write(*, build: Build) -> None:
            raise OperationalError("down")

        with pytest.raises(OperationalError):
            write(build=self.running(build))


def test_a_missing_image_is_one_line_and_other_faults_are_one_each(
    submission: Submission, caplog: pytest.LogCaptureFixture
) -> None:
    def action(job: Build, lease: Lease) -> None:
        raise PlatformFault(f"Image {job.pk % 2} is missing.", code=codes[0])

    codes = ["image_missing"]
    for codes[0] in ("image_missing", "store_failed_once"):
        for _ in range(4):
            build = factories.build(submission, JobState.QUEUED)
            assert perform_one(Build, build.pk, action) is Performed.GIVEN_BACK
            Build.objects.all().delete()
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [sum(code in line for line in errors) for code in ("image_missing", "store_failed_once")] == [2, 4]
