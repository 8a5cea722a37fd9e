"""Evaluations that end, are asked for, deleted and drawn anew at the same moment, on a real database."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from arena_kit.environment.registry import get_spec
from core.environments.services import environment_sync
from core.errors import Refused
from core.evaluations.seeds import final_phase_start
from core.evaluations.selectors import ranking_list
from core.evaluations.services import evaluation_again
from core.evaluations.standing import standing
from core.evaluations.tests.evaluated import fail, running, succeed
from core.jobs.artifacts import DuelArtifacts
from core.jobs.states import StaleJob
from core.models import Agent, Environment, Evaluation, JobFault, JobState, SeedPurpose, Submission
from core.submissions.existing import submission_delete, submission_rebuild
from core.submissions.phases import build_succeed, validation_succeed
from core.submissions.services import submission_create
from core.tests import factories
from core.tests.concurrency import at_once
from tests.samples import FIRST, archive

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def agent(task: Environment) -> Agent:
    return factories.agent(factories.user("alice"), task, "anna")


def attempt(action: Callable[[], object]) -> Callable[[], bool]:
    """Return whether it was done, or refused because something else was quicker."""

    def run() -> bool:
        try:
            action()
        except (StaleJob, Refused):
            return False
        return True

    return run


@pytest.mark.parametrize("repetition", range(2))
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


@pytest.mark.parametrize("repetition", range(2))
def test_what_is_deleted_while_it_finishes_never_stands(agent: Agent, repetition: int) -> None:
    before = succeed(running(factories.ready(agent)))
    evaluation = running(factories.ready(agent))

    at_once(attempt(lambda: succeed(evaluation)), attempt(lambda: submission_delete(submission=evaluation.submission)))

    assert standing(agent.environment).get() == before
    assert Evaluation.objects.filter(is_current=True).get() == before


@pytest.mark.parametrize("repetition", range(2))
def test_a_final_phase_that_begins_while_evaluations_end_misses_no_agent(
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


@pytest.mark.parametrize("repetition", range(2))
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


def test_a_version_that_would_keep_its_score_while_a_final_phase_begins_is_played_on_its_seeds(
    task: Environment, agent: Agent
) -> None:
    submission = factories.ready(agent)
    factories.evaluation(submission)
    factories.build(submission)
    validation = factories.validation(submission, JobState.RUNNING)

    at_once(
        attempt(lambda: validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")),
        attempt(lambda: final_phase_start(environment=task, by=None)),
    )

    open_ones = submission.evaluations.filter(state=JobState.QUEUED)
    assert open_ones.get().seed_list == task.seed_lists.get(purpose=SeedPurpose.FINAL)


def test_whether_a_score_is_kept_is_asked_of_an_environment_that_is_held(agent: Agent) -> None:
    submission = factories.ready(agent)
    factories.evaluation(submission)
    validation = factories.validation(submission, JobState.RUNNING)

    with CaptureQueriesContext(connection) as queries:
        validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")

    tables = ('FROM "core_environment"', 'FROM "core_seedlist"')
    touched = [table for query in queries for table in tables if table in query["sql"]]
    assert list(dict.fromkeys(touched)) == list(tables)
    assert not submission.evaluations.filter(state=JobState.QUEUED).exists()


def test_what_is_built_again_is_not_evaluated_before_it_is_validated(agent: Agent) -> None:
    submission = factories.ready(agent)
    factories.build(submission, JobState.QUEUED)

    with pytest.raises(Refused, match="built and validated"):
        evaluation_again(submission=submission)


@pytest.mark.parametrize("repetition", range(2))
def test_the_same_archive_that_comes_while_a_final_phase_begins_makes_no_deadlock(
    task: Environment, agent: Agent, repetition: int
) -> None:
    file = archive(FIRST)
    submission_create(agent=agent, archive=file)
    submission = agent.submissions.get()
    submission.builds.all().delete()
    factories.build(submission)
    factories.validation(submission)
    Submission.objects.update(image="image")
    factories.evaluation(submission, JobState.FAILED, fault=JobFault.PLATFORM)

    done = at_once(
        attempt(lambda: submission_create(agent=agent, archive=file)),
        attempt(lambda: final_phase_start(environment=task, by=None)),
    )

    assert done[1]
    assert {job.seed_list for job in submission.evaluations.filter(state=JobState.QUEUED)} == {ranking_list(task)}


def test_a_build_that_ends_takes_its_agent_before_its_own_row(agent: Agent) -> None:
    build = factories.build(factories.submission(agent), JobState.RUNNING)

    with CaptureQueriesContext(connection) as queries:
        build_succeed(build=build, image="image", digest="", warnings=[], log="")

    tables = ('FROM "core_agent"', 'UPDATE "core_build"', 'UPDATE "core_submission"')
    touched = [table for query in queries for table in tables if table in query["sql"]]
    assert touched[:3] == list(tables)


def test_who_asks_for_an_evaluation_takes_the_agent_before_submission_and_environment(agent: Agent) -> None:
    submission = factories.ready(agent)

    with CaptureQueriesContext(connection) as queries:
        evaluation_again(submission=submission)

    tables = ('FROM "core_agent"', 'FROM "core_submission"', 'FROM "core_environment"')
    touched = [table for query in queries for table in tables if table in query["sql"]]
    assert list(dict.fromkeys(touched)) == list(tables)


def test_who_builds_again_takes_the_agent_before_its_jobs_and_sees_what_was_deleted_a_moment_ago(agent: Agent) -> None:
    submission = factories.ready(agent)
    factories.build(submission, JobState.QUEUED)

    with CaptureQueriesContext(connection) as queries:
        submission_rebuild(submission=submission)

    tables = ('FROM "core_agent"', 'FROM "core_submission"', 'FROM "core_build"')
    touched = [table for query in queries for table in tables if table in query["sql"]]
    assert list(dict.fromkeys(touched)) == list(tables)
    submission_delete(submission=Submission.objects.get())
    with pytest.raises(Refused, match="deleted"):
        submission_rebuild(submission=submission)


@pytest.mark.parametrize("repetition", range(2))
def test_what_is_deleted_while_its_build_ends_is_not_validated(agent: Agent, repetition: int) -> None:
    submission = factories.submission(agent)
    build = factories.build(submission, JobState.RUNNING)

    _, deleted = at_once(
        attempt(lambda: build_succeed(build=build, image="image", digest="", warnings=[], log="")),
        attempt(lambda: submission_delete(submission=submission)),
    )

    assert deleted
    assert not submission.validations.exclude(state=JobState.CANCELLED).exists()


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
