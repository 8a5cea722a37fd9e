"""Evaluations that end, are asked for, deleted and drawn anew at the same moment, on a real database."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import Refused
from core.models import Agent, Environment, Evaluation, JobState, SeedPurpose
from core.selectors.board import standing
from core.selectors.evaluations import ranking_list
from core.services.agents import submission_delete
from core.services.artifacts import DuelArtifacts
from core.services.environments import environment_sync
from core.services.evaluations import evaluation_again
from core.services.phases import validation_succeed
from core.services.seeds import final_phase_start
from core.states import StaleJob
from core.tests import factories
from core.tests.concurrency import at_once
from core.tests.test_evaluations import fail, running, succeed
from environments.registry import get_spec

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def agent(task: Environment) -> Agent:
    return factories.agent(factories.user("alice"), task, "anna")


def attempt(action: Callable[[], object]) -> Callable[[], bool]:
    """Whether it was done, or refused because something else was quicker."""

    def run() -> bool:
        try:
            action()
        except (StaleJob, Refused):
            return False
        return True

    return run


@pytest.mark.parametrize("repetition", range(3))
def test_of_versions_that_finish_together_the_newest_stands(agent: Agent, repetition: int) -> None:
    evaluations = [running(factories.ready(agent)) for _ in range(4)]

    at_once(*(attempt(lambda job=job: succeed(job)) for job in evaluations))  # type: ignore[misc]

    assert standing(agent.environment).get() == evaluations[-1]
    assert not Evaluation.objects.exclude(state=JobState.SUCCEEDED).exists()


def test_of_evaluations_of_one_version_that_end_together_the_last_good_one_stands(agent: Agent) -> None:
    submission = factories.ready(agent)
    first, second, third = (running(submission) for _ in range(3))

    at_once(attempt(lambda: succeed(first)), attempt(lambda: succeed(second)), attempt(lambda: fail(third)))

    assert standing(agent.environment).get() == second


@pytest.mark.parametrize("repetition", range(3))
def test_what_is_deleted_while_it_finishes_never_stands(agent: Agent, repetition: int) -> None:
    before = succeed(running(factories.ready(agent)))
    evaluation = running(factories.ready(agent))

    at_once(attempt(lambda: succeed(evaluation)), attempt(lambda: submission_delete(submission=evaluation.submission)))

    assert standing(agent.environment).get() == before
    assert Evaluation.objects.filter(is_current=True).get() == before


@pytest.mark.parametrize("repetition", range(3))
def test_a_final_phase_that_begins_while_evaluations_end_misses_nobody(
    task: Environment, agent: Agent, repetition: int
) -> None:
    other = factories.agent(agent.owner, task)
    evaluations = [running(factories.ready(agent)), running(factories.ready(other))]

    *_, begun = at_once(
        *(attempt(lambda job=job: succeed(job)) for job in evaluations),  # type: ignore[misc]
        attempt(lambda: final_phase_start(environment=task, by=None)),
    )

    assert begun
    waiting = Evaluation.objects.filter(state=JobState.QUEUED)
    assert {job.agent for job in waiting} == {agent, other}
    assert {job.seed_list for job in waiting} == {ranking_list(task)}
    assert not Evaluation.objects.filter(state=JobState.RUNNING).exists()


@pytest.mark.parametrize("repetition", range(3))
def test_a_version_that_is_validated_while_a_final_phase_begins_is_played_on_its_seeds(
    task: Environment, agent: Agent, repetition: int
) -> None:
    submission = factories.submission(agent)
    factories.build(submission)
    validation = factories.validation(submission, JobState.RUNNING)

    at_once(
        attempt(lambda: validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")),
        attempt(lambda: final_phase_start(environment=task, by=None)),
    )

    open_ones = submission.evaluations.filter(state=JobState.QUEUED)
    assert open_ones.get().seed_list == task.seed_lists.get(purpose=SeedPurpose.FINAL)


def test_a_final_phase_that_two_organisers_start_begins_once(task: Environment) -> None:
    begun = at_once(*[attempt(lambda: final_phase_start(environment=task, by=None))] * 3)

    assert sorted(begun) == [False, False, True]
    assert task.seed_lists.filter(purpose=SeedPurpose.FINAL).count() == 1


def test_a_submission_that_is_asked_for_twice_is_evaluated_once(agent: Agent) -> None:
    submission = factories.ready(agent)

    done = at_once(*[attempt(lambda: evaluation_again(submission=submission))] * 3)

    assert sorted(done) == [False, False, True]
    assert submission.evaluations.count() == 1


def test_processes_that_begin_together_draw_the_first_seeds_once() -> None:
    at_once(*[lambda: environment_sync(spec=get_spec("taxi"))] * 3)

    assert Environment.objects.get(slug="taxi").seed_lists.count() == 2
