from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from core import worker
from core.models import Build, JobFault, JobState, Submission
from core.selectors.jobs import attempts_of
from core.services.jobs import job_release, job_succeed, jobs_wake_waiting
from core.tests import factories
from core.worker import Performed, Pulse, ask_to_stop, perform, perform_next

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
    monkeypatch.setattr(worker, "_stopping", bytearray(8))


@pytest.fixture
def no_grace(settings: Settings) -> None:
    settings.STOP_GRACE_SECONDS = 0


@pytest.mark.usefixtures("no_grace")
def test_a_worker_that_shall_stop_gives_back_what_it_does_without_using_up_an_attempt(build: Build) -> None:
    def action(job: Build, pulse: Pulse) -> None:
        pulse.log("half done")
        ask_to_stop()
        pulse.raise_if_lost()
        pytest.fail("it went on")

    assert perform(Build, build.pk, action) is Performed.GIVEN_BACK

    build.refresh_from_db()
    assert (build.state, build.attempt, build.claim_token) == (JobState.QUEUED, 0, None)
    assert (build.fault, build.error_code, build.log) == (JobFault.NONE, "worker_stopped", "half done")
    assert [(attempt.number, attempt.code) for attempt in attempts_of(build)] == [(1, "worker_stopped")]


def test_what_ends_within_half_of_the_grace_is_finished_by_the_worker_that_shall_stop(
    build: Build, settings: Settings
) -> None:
    settings.STOP_GRACE_SECONDS = 10_000

    def action(job: Build, pulse: Pulse) -> None:
        ask_to_stop()
        pulse.raise_if_lost()
        job_succeed(job=job)

    assert perform(Build, build.pk, action) is Performed.DONE
    build.refresh_from_db()
    assert build.state == JobState.SUCCEEDED


@pytest.mark.usefixtures("no_grace")
def test_what_does_not_look_whether_it_shall_stop_loses_its_job_within_the_grace(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "NEWS_SECONDS", 0.01)

    def action(job: Build, pulse: Pulse) -> None:
        pulse.log("deaf")
        ask_to_stop()
        assert pulse.lost.wait(30)
        job_succeed(job=job)

    perform(Build, build.pk, action)

    build.refresh_from_db()
    assert (build.state, build.attempt, build.error_code, build.log) == (JobState.QUEUED, 0, "worker_stopped", "deaf")


def test_a_worker_that_shall_stop_begins_nothing_and_has_its_message_sent_again(build: Build) -> None:
    ask_to_stop()
    for take in (perform, perform_next):
        Build.objects.update(not_before=None)
        assert take(Build, build.pk, lambda *_: pytest.fail("it began")) is Performed.GIVEN_BACK
        build.refresh_from_db()
        assert (build.state, build.attempt, build.history) == (JobState.QUEUED, 0, [])
        assert jobs_wake_waiting(older_than=timedelta(hours=1), queues=[]) == 1


@pytest.mark.usefixtures("no_grace")
def test_attempts_that_the_platform_has_used_stay_used(build: Build) -> None:
    perform(Build, build.pk, lambda job, _: job_release(job=job, code="engine_down", error="No engine."))
    Build.objects.update(not_before=None)

    def action(job: Build, pulse: Pulse) -> None:
        ask_to_stop()
        pulse.raise_if_lost()

    perform(Build, build.pk, action)
    build.refresh_from_db()
    assert build.attempt == 1
    assert [(attempt.number, attempt.code) for attempt in attempts_of(build)] == [
        (1, "engine_down"),
        (2, "worker_stopped"),
    ]
