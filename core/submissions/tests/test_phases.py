from __future__ import annotations

from datetime import timedelta

import pytest

from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_claim
from core.jobs.phase_selectors import SubmissionStatus, evaluation_of, is_moving, open_log, phases_of, status_of
from core.models import Build, Environment, Evaluation, JobState, Submission, Validation
from core.submissions.client_selectors import client_result
from core.submissions.existing import submission_delete, submission_rebuild
from core.submissions.outlook import edition_expected
from core.submissions.phases import build_succeed, validation_succeed
from core.submissions.selectors import agent_source_visible
from core.tests import factories
from core.tests.factories import Cast

pytestmark = pytest.mark.django_db
QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED = JobState


@pytest.fixture
def submission(people: Cast, environment: Environment) -> Submission:
    return factories.submission(factories.agent(people.alice, environment))


def again(submission: Submission) -> None:
    """A new build, begun after everything there is."""
    build = factories.build(submission, RUNNING)
    Build.objects.filter(pk=build.pk).update(created_at=build.created_at + timedelta(hours=1))


@pytest.mark.parametrize(
    ("build", "validation", "status"),
    [
        (None, None, SubmissionStatus.WAITING),
        (QUEUED, None, SubmissionStatus.WAITING),
        (RUNNING, None, SubmissionStatus.BUILDING),
        (FAILED, None, SubmissionStatus.FAILED),
        (CANCELLED, None, SubmissionStatus.CANCELLED),
        (SUCCEEDED, QUEUED, SubmissionStatus.VALIDATING),
        (SUCCEEDED, RUNNING, SubmissionStatus.VALIDATING),
        (SUCCEEDED, FAILED, SubmissionStatus.FAILED),
        (SUCCEEDED, CANCELLED, SubmissionStatus.CANCELLED),
        (SUCCEEDED, SUCCEEDED, SubmissionStatus.READY),
    ],
)
def test_a_submission_has_one_status(
    submission: Submission, build: JobState | None, validation: JobState | None, status: SubmissionStatus
) -> None:
    if build is not None:
        factories.build(submission, build)
    if validation is not None:
        factories.validation(submission, validation)
    assert status_of(submission) is status


def test_a_submission_that_is_built_again_is_no_longer_ready(submission: Submission) -> None:
    factories.build(submission)
    factories.validation(submission)
    again(submission)
    assert status_of(submission) is SubmissionStatus.BUILDING
    assert phases_of([submission], is_publishing=False)[0][1].job is None
    assert is_moving(submission)


def test_a_player_that_keeps_its_score_is_ready_once_it_is_built_and_validated_again(people: Cast) -> None:
    submission = factories.ready(factories.agent(people.alice, factories.task()))
    score = factories.evaluation(submission)
    submission_rebuild(submission=submission)

    def seen() -> tuple[SubmissionStatus, Evaluation | None, str]:
        row = Submission.objects.get()
        return status_of(row), evaluation_of(row), client_result(row, people.alice).status

    assert seen() == (SubmissionStatus.WAITING, None, "pending")
    build = job_claim(kind=Build, job_id=submission.builds.latest("pk").pk, worker="w")
    assert build is not None
    build_succeed(build=build, image="again", digest="", warnings=[], log="")
    validation = job_claim(kind=Validation, job_id=submission.validations.latest("pk").pk, worker="w")
    assert validation is not None
    assert seen() == (SubmissionStatus.VALIDATING, None, "processing")
    validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")
    assert seen() == (SubmissionStatus.READY, score, "completed")


def test_a_deleted_submission_is_deleted_whatever_else_it_was(submission: Submission) -> None:
    factories.build(submission)
    factories.validation(submission)
    submission.deleted_at = factories.NOON
    assert status_of(submission) is SubmissionStatus.DELETED


@pytest.mark.parametrize(("is_public", "is_publishing", "count"), [(True, True, 3), (True, False, 2), (False, True, 2)])
def test_publication_is_a_phase_of_public_agents_where_the_arena_publishes(
    submission: Submission, is_public: bool, is_publishing: bool, count: int
) -> None:
    submission.agent.is_public = is_public
    assert len(phases_of([submission], is_publishing=is_publishing)[0]) == count


def test_a_publication_that_happened_is_always_shown(submission: Submission) -> None:
    factories.publication(submission)
    assert phases_of([submission], is_publishing=False)[0][-1].title == "Publication"


def test_the_log_of_the_phase_that_runs_or_has_failed_is_at_hand(submission: Submission) -> None:
    assert open_log(submission) is None
    factories.build(submission, RUNNING, log="copying")
    log = open_log(submission)
    assert log is not None
    assert (log.title, log.text, log.is_live) == ("Build log", "copying", True)
    factories.moved(submission.builds.all(), SUCCEEDED)
    assert open_log(submission) is None
    factories.validation(submission, FAILED, log="raised")
    log = open_log(submission)
    assert log is not None
    assert (log.title, log.text, log.is_live) == ("Validation log", "raised", False)


def test_source_is_for_owner_and_staff_or_everyone_if_public(submission: Submission, people: Cast) -> None:
    agent = submission.agent
    viewers = (people.alice, people.bob, people.charlie, people.olga)
    assert [agent_source_visible(agent, viewer) for viewer in viewers] == [True, False, False, True]
    agent.is_public = True
    assert all(agent_source_visible(agent, viewer) for viewer in viewers)


def test_an_edition_is_expected_while_the_latest_valid_submission_has_played_none(
    people: Cast, environment: Environment
) -> None:
    first = factories.ready(factories.agent(people.alice, environment))
    assert not edition_expected(environment)
    second = factories.ready(factories.agent(people.bob, environment))
    assert edition_expected(environment)
    factories.tournament([first, second])
    assert not edition_expected(environment)
    overtaken = factories.ready(first.agent)
    latest = factories.ready(first.agent)
    factories.tournament([latest, second], edition=2)
    assert overtaken.participations.count() == 0
    assert not edition_expected(environment)
    submission_delete(submission=latest)
    assert edition_expected(environment)


# --- Environments that are ranked by scores ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "validation", "evaluation", "status"),
    [
        (SUCCEEDED, QUEUED, None, SubmissionStatus.VALIDATING),
        (SUCCEEDED, FAILED, None, SubmissionStatus.FAILED),
        (SUCCEEDED, SUCCEEDED, None, SubmissionStatus.WAITING),
        (SUCCEEDED, SUCCEEDED, QUEUED, SubmissionStatus.EVALUATING),
        (SUCCEEDED, SUCCEEDED, RUNNING, SubmissionStatus.EVALUATING),
        (SUCCEEDED, SUCCEEDED, SUCCEEDED, SubmissionStatus.READY),
        (SUCCEEDED, SUCCEEDED, FAILED, SubmissionStatus.FAILED),
        (SUCCEEDED, SUCCEEDED, CANCELLED, SubmissionStatus.CANCELLED),
        # Of a script: no validation.
        (RUNNING, None, None, SubmissionStatus.BUILDING),
        (SUCCEEDED, None, None, SubmissionStatus.WAITING),
        (SUCCEEDED, None, QUEUED, SubmissionStatus.EVALUATING),
        (SUCCEEDED, None, SUCCEEDED, SubmissionStatus.READY),
        (SUCCEEDED, None, FAILED, SubmissionStatus.FAILED),
    ],
)
def test_a_submission_that_plays_alone_is_ready_once_it_has_a_score(
    people: Cast, build: JobState, validation: JobState | None, evaluation: JobState | None, status: SubmissionStatus
) -> None:
    agent = factories.agent(people.alice, factories.task())
    submission = factories.submission(agent, form="PLAYER" if validation else "SCRIPT")
    factories.build(submission, build)
    if validation is not None:
        factories.validation(submission, validation)
    if evaluation is not None:
        make = factories.evaluation if validation is not None else factories.script_evaluation
        make(submission, evaluation)

    assert status_of(submission) is status
    assert is_moving(submission) is any(state in (QUEUED, RUNNING) for state in (build, validation, evaluation))
    titles = [phase.title for phase in phases_of([submission], is_publishing=False)[0]]
    assert titles == (["Build", "Validation", "Evaluation"] if validation else ["Build", "Evaluation"])


def test_an_evaluation_says_nothing_about_a_newer_build(people: Cast) -> None:
    submission = factories.ready(factories.agent(people.alice, factories.task()))
    factories.evaluation(submission)
    assert status_of(submission) is SubmissionStatus.READY

    again(submission)

    assert status_of(submission) is SubmissionStatus.BUILDING
    assert phases_of([submission], is_publishing=False)[0][-1].job is None


def test_of_two_evaluations_the_newer_one_is_shown(people: Cast) -> None:
    submission = factories.ready(factories.agent(people.alice, factories.task()))
    factories.evaluation(submission, FAILED, scores=(), log="first")
    assert status_of(submission) is SubmissionStatus.FAILED

    running = factories.evaluation(submission, RUNNING, scores=(), log="second")

    assert phases_of([submission], is_publishing=False)[0][-1].job == running
    log = open_log(submission)
    assert log is not None
    assert (log.title, log.text, log.is_live) == ("Evaluation log", "second", True)
