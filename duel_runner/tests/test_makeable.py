"""Work whose environment a worker cannot make.

Where the whole site lacks a package it fails at once; where only this worker is in trouble it waits for another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import Schedule

from arena_kit.environment import availability
from arena_kit.environment.protocol import MissingExtra
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from core.environments.availability import availability_note
from core.errors import Refused
from core.jobs import claims, worker
from core.jobs.hosts import worker_name
from core.jobs.lifecycle import job_enqueue
from core.jobs.waits import WaitCode, waits_of
from core.jobs.workers import worker_appear, worker_stop
from core.models import (
    Alarm,
    Duel,
    Environment,
    Evaluation,
    Job,
    JobFault,
    JobState,
    Notice,
    Tournament,
    Validation,
)
from core.notices.alarms import alarms_settle_ended
from core.operations.watchdog import _standstill
from core.submissions.services import agent_create
from core.tests import factories
from core.tests.working import run
from duel_runner import makeable
from tests.samples import FIRST, archive


class Idle:
    """An environment that can be made."""

    to_move = ()

    def reset(self, seed: int) -> None:
        pass


pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def package_is_gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove a package that existed when the arena was started."""

    def make(spec: EnvironmentSpec) -> None:
        raise MissingExtra("CartPole-v1 needs packages that are not installed here.", hint="Run `pip install it`.")

    monkeypatch.setattr(EnvironmentSpec, "make", make)
    makeable._known.clear()
    claims._left_out.clear()
    yield
    makeable._known.clear()
    claims._left_out.clear()


def mark_unavailable(environment: Environment) -> None:
    """What `sync_environments` writes where the package is missing on the whole site."""
    environment.unavailable_because = "CartPole-v1 needs packages. Run `pip install it`."
    environment.save(update_fields=["unavailable_because"])


def rules_missing(job: Job) -> EnvironmentSpec:
    raise PlatformFault("The rules are no longer in this arena's code.", code="rules_missing")


def claimed(queue: str) -> Job | None:
    """Return the job that this worker claims next."""
    claim = claims.claim_next(queue, worker="w")
    return None if claim is None else claim.job


def waiting_validation(environment: Environment, owner: str = "ann") -> Validation:
    submission = factories.submission(factories.agent(factories.user(owner), environment))
    factories.build(submission)
    job = factories.validation(submission, JobState.QUEUED)
    job_enqueue(job=job)
    return job


@pytest.mark.parametrize("kind", [Validation, Evaluation])
@pytest.mark.parametrize("trouble", [MissingExtra("CartPole-v1 needs packages."), SyntaxError("invalid syntax")])
def test_a_job_fails_at_its_first_attempt_where_the_site_knows_that_the_environment_is_broken(
    kind: type[Job], trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(spec: EnvironmentSpec) -> None:
        raise trouble

    monkeypatch.setattr(EnvironmentSpec, "make", make)
    environment = factories.task()
    mark_unavailable(environment)
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
    # The owner is told, but not to install anything.
    for text in (job.error, job.log, Notice.objects.get().text):
        assert "pip" not in text
    with pytest.raises(Refused, match="is not available on this arena"):
        agent_create(
            owner=owner, environment=Environment.objects.get(), name="next", is_public=False, archive=archive(FIRST)
        )


def test_a_worker_alone_without_the_package_gives_the_job_back_and_leaves_it_to_others() -> None:
    environment = factories.task()
    job = waiting_validation(environment)

    assert run(job) == worker.Performed.GIVEN_BACK

    job.refresh_from_db()
    assert (job.state, job.fault, job.attempt) == (JobState.QUEUED, JobFault.PLATFORM, 1)
    assert job.error_code == "environment_unmakeable"
    assert "pip" not in job.error + job.log
    alarm = Alarm.objects.get()
    assert alarm.settled_at is None
    assert "Run `pip install it`." in alarm.message
    # One worker says nothing about the site.
    assert Environment.objects.get().is_available
    # It takes jobs of other environments only, until the whole site is known to lack the package.
    Validation.objects.update(not_before=None)
    assert worker.is_well()
    assert claims.claim_next("duel", worker="w") is None
    other = waiting_validation(factories.environment(), owner="bob")
    assert claimed("duel") == other
    mark_unavailable(environment)
    assert claimed("duel") == job


def test_the_end_of_a_worker_settles_the_alarm_about_it_and_the_next_in_trouble_raises_its_own() -> None:
    environment = factories.task()
    job = waiting_validation(environment)
    here = worker_appear(name=worker_name(), host="h", pid=1, queue="duel", version="1", python="3")
    run(job)
    alarms = Alarm.objects.filter(key__endswith="-unmakeable", settled_at=None)
    assert alarms_settle_ended() == 0
    assert alarms.get().worker == here.name

    worker_stop(worker=here)
    assert alarms_settle_ended() == 1
    assert not alarms.exists()
    # This process is still in trouble when it looks for its next job.
    assert claimed("duel") is None
    assert alarms.exists()
    # One that cannot be alive any more, because it was restarted and its row pruned.
    Alarm.objects.update(worker="gone:1")
    assert alarms_settle_ended() == 1


def test_duels_in_line_wait_until_their_environment_is_available_again(monkeypatch: pytest.MonkeyPatch) -> None:
    game = factories.environment()
    ann, bob = (factories.ready(factories.agent(factories.user(name), game)) for name in ("ann", "bob"))
    tournament = Tournament.objects.create(environment=game, edition=1)
    for number in (1, 2, 3):
        job_enqueue(job=factories.duel(tournament, ann, bob, number=number, state=JobState.QUEUED))
    availability_note(
        environment=game, trouble=availability.Unavailability("It needs a package.", hint="Run `pip install it`.")
    )

    assert claimed("duel") is None
    (wait,) = set(waits_of(Duel.objects.all()).values())
    assert (wait.code, wait.is_stuck) == (WaitCode.UNAVAILABLE, True)
    assert "is not available on this arena" in wait.sentence
    assert "pip" not in wait.sentence
    # Each look of a worker costs one claim, no attempt and no line of the history.
    for _ in range(3):
        Duel.objects.update(not_before=None)
        assert worker.step("duel") == worker.Performed.DONE
        assert worker.step("duel") == worker.Performed.NOTHING
    for duel in Duel.objects.all():
        assert (duel.state, duel.attempt, duel.history) == (JobState.QUEUED, 0, [])
        assert duel.error_code == "environment_unavailable"
    # The file with its rules may be what is broken.
    with monkeypatch.context() as patch:
        patch.setattr(makeable, "rules", rules_missing)
        Duel.objects.update(not_before=None)
        assert worker.step("duel") == worker.Performed.DONE
    assert set(Duel.objects.values_list("attempt", "error_code", "started_at")) == {
        (0, "environment_unavailable", None)
    }
    # The watchdog does not take them for a queue that stands still; the schedules of the queue are on time.
    Schedule.objects.update(next_run=timezone.now() + timedelta(days=1))
    assert _standstill("duel", timezone.now() + timedelta(hours=1)) == ""

    monkeypatch.setattr(EnvironmentSpec, "make", lambda spec: Idle())
    makeable._known.clear()
    availability_note(environment=game, trouble=None)
    job = claimed("duel")
    assert isinstance(job, Duel)
    assert (job.number, job.attempt, job.error_code) == (1, 1, "")


def test_a_passing_trouble_of_a_worker_costs_one_attempt_and_no_duel(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(spec: EnvironmentSpec) -> None:
        raise MemoryError

    monkeypatch.setattr(EnvironmentSpec, "make", exhausted)
    game = factories.environment()
    ann, bob = (factories.ready(factories.agent(factories.user(name), game)) for name in ("ann", "bob"))
    tournament = Tournament.objects.create(environment=game, edition=1)
    for number in range(1, 9):
        factories.duel(tournament, ann, bob, number=number, state=JobState.QUEUED)

    for _ in range(8):
        worker.step("duel")

    states = list(Duel.objects.values_list("state", flat=True))
    assert (states.count(JobState.FAILED), Duel.objects.filter(attempt__gt=0).count()) == (0, 1)
    assert Environment.objects.get().is_available
    assert "MemoryError" in Alarm.objects.get(settled_at=None).message
    # It has memory again.
    monkeypatch.setattr(EnvironmentSpec, "make", lambda spec: Idle())
    assert claimed("duel") is not None
    assert not Alarm.objects.filter(settled_at=None).exists()
    assert makeable.trouble_here(game.spec_id) is None


def test_what_a_trial_finds_is_the_sentence_without_the_command() -> None:
    from arena_kit.environment.registry import get_spec

    trouble = availability.trouble_of(get_spec("cart-pole"))
    assert trouble is not None
    assert (trouble.is_missing, trouble.because) == (True, "CartPole-v1 needs packages that are not installed here.")


def test_a_validation_by_rules_that_come_later_is_delayed_and_costs_no_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EnvironmentSpec, "make", lambda spec: Idle())
    environment = factories.task()
    Environment.objects.update(version=9)
    environment.refresh_from_db()
    job = waiting_validation(environment)

    for _ in range(6):
        claims._left_out.clear()
        Validation.objects.update(not_before=None)
        assert worker.step("duel") == worker.Performed.DONE

    job.refresh_from_db()
    assert (job.state, job.attempt, job.error_code) == (JobState.QUEUED, 0, "rules_missing")
    assert job.not_before is not None
    alarm = Alarm.objects.get(settled_at=None)
    assert "ENVIRONMENTS_DIR" in alarm.message

    # This process leaves the environment to others until it has the files, as now.
    Validation.objects.update(not_before=None)
    assert claimed("duel") is None
    newest = replace(get_spec("cart-pole"), version=9)
    monkeypatch.setattr(makeable, "get_spec", lambda name: newest)
    Validation.objects.update(not_before=None)
    claimed_job = claimed("duel")
    assert isinstance(claimed_job, Validation)
    assert claimed_job.attempt == 1
    assert not Alarm.objects.filter(settled_at=None).exists()


def test_a_job_by_rules_that_are_gone_for_good_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    job = waiting_validation(factories.task())
    Validation.objects.update(environment_version="cart-pole-v0")
    worker.step("duel")
    job.refresh_from_db()
    assert (job.state, job.attempt, job.error_code) == (JobState.QUEUED, 1, "rules_missing")
