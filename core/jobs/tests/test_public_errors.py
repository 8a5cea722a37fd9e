"""What strangers read of a failure: a column that is written with it, not a part that is cut out of a sentence."""

from __future__ import annotations

import pytest

from core.evaluations.services import evaluation_create, evaluation_fail
from core.jobs.artifacts import EvaluationArtifacts
from core.jobs.lifecycle import job_claim, job_fail, job_give_back
from core.models import Environment, Evaluation, JobFault, JobState
from core.submissions.visibility import error_shown
from core.tests import factories

pytestmark = pytest.mark.django_db
SEED = "9137764129"


@pytest.fixture
def task() -> Environment:
    return factories.task()


def failed(task: Environment, *, error: str, public_error: str) -> Evaluation:
    made = factories.ready(factories.agent(factories.user("alice"), task))
    row = job_claim(kind=Evaluation, job_id=evaluation_create(submission=made).pk, worker="w")
    assert row is not None
    artifacts = EvaluationArtifacts(records="", player_log="", player_digest="", record_sha256="")
    evaluation_fail(
        evaluation=row,
        episodes=[],
        artifacts=artifacts,
        code="player_raised",
        error=error,
        public_error=public_error,
        log="",
    )
    return Evaluation.objects.get(pk=row.pk)


@pytest.mark.parametrize("error", [f"{SEED} was seen: ValueError", f"Saw {SEED}", f"Episode 3: {SEED}. It raised."])
def test_a_sentence_is_never_cut_to_what_may_be_read(task: Environment, error: str) -> None:
    row = failed(task, error=error, public_error="The player raised an exception.")
    alice, olga = row.submission.agent.owner, factories.user("olga", is_staff=True, is_superuser=True)
    assert error_shown(row, alice, can_see_source=True) == "The player raised an exception."
    assert error_shown(row, olga, can_see_source=True) == error


def test_without_public_words_a_failure_on_hidden_seeds_names_who_can_read_it(task: Environment) -> None:
    row = failed(task, error=f"Saw {SEED}", public_error="")
    alice = row.submission.agent.owner
    assert error_shown(row, alice, can_see_source=True) == "The organisers can read why."


def test_the_address_of_the_registry_is_for_organisers_alone() -> None:
    made = factories.submission(factories.agent(factories.user("alice"), factories.environment()))
    build = factories.build(made, JobState.QUEUED)
    row = job_claim(kind=type(build), job_id=build.pk, worker="w")
    assert row is not None
    job_give_back(job=row, code="registry_unavailable", error="The registry inner.example:5000 does not answer.")
    build.refresh_from_db()
    assert "inner.example" not in str(build.history)
    shown = error_shown(build, made.agent.owner, can_see_source=True)
    assert shown == "The arena's registry of images fails at the moment."
    olga = factories.user("olga", is_staff=True, is_superuser=True)
    assert "inner.example" in error_shown(build, olga, can_see_source=True)


def test_a_fault_of_the_platform_is_told_to_strangers_in_full() -> None:
    made = factories.submission(factories.agent(factories.user("alice"), factories.environment()))
    build = factories.build(made, JobState.QUEUED)
    build.refresh_from_db()
    row = job_claim(kind=type(build), job_id=build.pk, worker="w")
    assert row is not None
    job_give_back(job=row, code="engine_down", error="The engine: it did not answer.", is_delayed=False)
    assert error_shown(row, factories.user("bob"), can_see_source=False) == "The engine: it did not answer."
    row = job_claim(kind=type(build), job_id=build.pk, worker="w")
    assert row is not None
    job_fail(job=row, fault=JobFault.PLAYER, code="no_player", error="secret.py: line 3")
    build.refresh_from_db()
    assert build.public_error == "", "what was public of the attempt before it"
    assert error_shown(build, factories.user("carl"), can_see_source=False) == "The owner can read why."
