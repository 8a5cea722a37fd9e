"""Jobs whose environment a worker cannot make fail once, without retries, and raise an alarm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arena_kit.environment import availability
from arena_kit.environment.protocol import MissingExtra
from arena_kit.environment.spec import EnvironmentSpec
from core.errors import Refused
from core.jobs.lifecycle import job_enqueue
from core.models import Alarm, Environment, Evaluation, Job, JobFault, JobState, Notice, Validation
from core.submissions.services import agent_create
from core.tests import factories
from core.tests.working import run
from duel_runner import makeable
from tests.samples import FIRST, archive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def package_is_gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove a package that existed when the arena was started."""

    def make(spec: EnvironmentSpec) -> None:
        raise MissingExtra("CartPole-v1 needs packages that are not installed here.", hint="Run `pip install it`.")

    monkeypatch.setattr(EnvironmentSpec, "make", make)
    makeable._trouble.cache_clear()
    yield
    makeable._trouble.cache_clear()


@pytest.mark.parametrize("kind", [Validation, Evaluation])
def test_a_job_fails_at_its_first_attempt_and_calls_the_organisers(kind: type[Job]) -> None:
    environment = factories.task()
    owner = factories.user("ann")
    submission = factories.submission(factories.agent(owner, environment))
    factories.build(submission)
    if kind is Evaluation:
        factories.validation(submission)
        job: Job = factories.evaluation(submission, JobState.QUEUED)
    else:
        job = factories.validation(submission, JobState.QUEUED)
    job_enqueue(job=job)

    run(job)

    job.refresh_from_db()
    assert (job.state, job.fault, job.attempt) == (JobState.FAILED, JobFault.PLATFORM, 1)
    assert (job.error_code, job.not_before) == ("environment_unavailable", None)
    alarm = Alarm.objects.get()
    assert alarm.settled_at is None
    assert "Run `pip install it`." in alarm.message
    assert not Environment.objects.get().is_available
    # The owner is told, but not to install anything.
    for text in (job.error, job.log, Notice.objects.get().text):
        assert "pip" not in text
    with pytest.raises(Refused, match="is not available on this arena"):
        agent_create(
            owner=owner, environment=Environment.objects.get(), name="next", is_public=False, archive=archive(FIRST)
        )


def test_what_a_trial_finds_is_the_sentence_without_the_command() -> None:
    from arena_kit.environment.registry import get_spec

    trouble = availability.trouble_of(get_spec("cart-pole"))
    assert trouble is not None
    assert (trouble.is_missing, trouble.because) == (True, "CartPole-v1 needs packages that are not installed here.")
