from __future__ import annotations

import pytest

from core import worker
from core.models import Build, JobFault, JobState, Submission
from core.services.jobs import job_release
from core.tests import factories
from core.worker import Pulse, ask_to_stop, perform

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
    monkeypatch.setattr(worker, "_stopping", bytearray(1))


def test_a_worker_that_shall_stop_gives_back_what_it_does_without_using_up_an_attempt(build: Build) -> None:
    def action(job: Build, pulse: Pulse) -> None:
        pulse.log("half done")
        ask_to_stop()
        pulse.raise_if_lost()
        pytest.fail("it went on")

    perform(Build, build.pk, action)

    build.refresh_from_db()
    assert (build.state, build.attempt, build.claim_token) == (JobState.QUEUED, 0, None)
    assert (build.fault, build.error_code, build.log) == (JobFault.NONE, "worker_stopped", "half done")


def test_a_worker_that_shall_stop_begins_nothing(build: Build) -> None:
    ask_to_stop()
    perform(Build, build.pk, lambda *_: pytest.fail("it began"))
    build.refresh_from_db()
    assert (build.state, build.attempt) == (JobState.QUEUED, 0)


def test_attempts_that_the_platform_has_used_stay_used(build: Build) -> None:
    perform(Build, build.pk, lambda job, _: job_release(job=job, code="engine_down", error="No engine."))
    Build.objects.update(not_before=None)
    ask_to_stop()
    perform(Build, build.pk, lambda *_: pytest.fail("it began"))
    build.refresh_from_db()
    assert build.attempt == 1
