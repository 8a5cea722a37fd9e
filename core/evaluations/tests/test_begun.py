"""What is evaluated, and when: after a validation, a build, a request and a change of the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import timezone

from arena_kit.environment.registry import get_spec
from core.environments.services import environment_sync
from core.errors import Refused
from core.evaluations.services import (
    evaluation_again,
    evaluation_create,
)
from core.evaluations.standing import standing
from core.evaluations.tests.evaluated import fail, running, stands_with, succeed
from core.jobs.artifacts import DuelArtifacts
from core.jobs.lifecycle import job_claim
from core.models import (
    Agent,
    Environment,
    Evaluation,
    JobState,
    SeedPurpose,
    Submission,
)
from core.submissions.phases import build_succeed, validation_succeed
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def agent(task: Environment) -> Agent:
    return factories.agent(factories.user("alice"), task, "anna")


def test_a_validated_player_is_evaluated_on_the_seeds_that_rank_now(agent: Agent) -> None:
    submission = factories.submission(agent)
    factories.build(submission)
    validation = factories.validation(submission, JobState.RUNNING)

    validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")

    evaluation = submission.evaluations.get()
    assert (evaluation.state, evaluation.environment_version) == (JobState.QUEUED, "cart-pole-v1")
    assert evaluation.seed_list == agent.environment.seed_lists.get(purpose=SeedPurpose.RANKING)
    assert evaluation.episode_count == 4


def test_a_player_that_is_built_again_keeps_its_score_as_long_as_rules_and_seeds_are_the_same(agent: Agent) -> None:
    submission = factories.ready(agent)
    score = factories.evaluation(submission)

    def validate_again() -> None:
        validation = factories.validation(submission, JobState.RUNNING)
        validation_succeed(validation=validation, artifacts=DuelArtifacts(2, "", "", ""), log="")

    validate_again()
    assert submission.evaluations.get() == score

    Evaluation.objects.update(environment_version="cart-pole-v0")
    validate_again()
    assert submission.evaluations.latest("pk").state == JobState.QUEUED


def test_an_image_that_is_gone_is_not_evaluated_again(agent: Agent) -> None:
    submission = factories.ready(agent)
    Submission.objects.update(image="", image_removed_at=timezone.now())
    with pytest.raises(Refused, match="build it again first"):
        evaluation_again(submission=submission)


def test_a_built_script_is_run_at_once(agent: Agent) -> None:
    submission = factories.script(agent)
    build = factories.build(submission, JobState.RUNNING)

    build_succeed(build=build, image="image", digest="sha256:2", warnings=[], log="")
    job = Evaluation.objects.latest("pk")

    assert job == submission.evaluations.get()
    assert not submission.validations.exists()


def test_an_evaluation_can_be_asked_for_again_once_the_last_one_is_over(agent: Agent) -> None:
    first = succeed(running(factories.ready(agent)))

    second = evaluation_again(submission=first.submission)

    assert (second.state, second.pk > first.pk) == (JobState.QUEUED, True)
    assert stands_with(agent) == first


def test_new_rules_have_everyone_evaluated_again(agent: Agent) -> None:
    first = succeed(running(factories.ready(agent)))
    other = factories.agent(agent.owner, agent.environment)
    deleted = succeed(running(factories.ready(other)))
    factories.build(deleted.submission, JobState.FAILED)
    waiting = evaluation_create(submission=first.submission)

    environment_sync(spec=replace(get_spec("cart-pole"), version=2))

    waiting.refresh_from_db()
    again = Evaluation.objects.latest("pk")
    assert (waiting.state, again.environment_version, again.submission) == (
        "CANCELLED",
        "cart-pole-v2",
        first.submission,
    )
    # It stays until its new evaluation is over; an agent without one leaves the board.
    assert list(standing(agent.environment)) == [first]
    claimed = job_claim(kind=Evaluation, job_id=again.pk, worker="worker-1")
    assert claimed is not None
    fail(claimed)
    assert not standing(agent.environment).exists()
