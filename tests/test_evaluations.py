"""From an upload to a place on the board: built, practised, evaluated on hidden seeds, and what goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arena_kit.environment.episodes import EvaluationArchive, EvaluationRecord
from arena_kit.environment.registry import get_spec
from arena_kit.errors import PlatformFault
from arena_kit.ranking.scores import summarise_scores
from arena_kit.referee import play as referee
from arena_kit.sandbox.base import SandboxError
from core.evaluations.episodes import practice_results
from core.evaluations.selectors import practice_list
from core.evaluations.standing import standing
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_claim
from core.models import Build, Environment, Evaluation, JobFault, JobState, Recording, Submission, Validation
from core.submissions.services import submission_create
from core.tests import factories
from core.tests.working import run
from duel_runner import tasks
from tests.samples import UNFORKABLE, archive, deliver_messages, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
EPISODES = 6
LEANING = """
class Player:
    def __init__(self, train_mode):
        print("ready")

    def start(self, state, valid_actions):
        return int(state[2] + state[3] > 0)

    def step(self, state, valid_actions, prev_reward):
        return int(state[2] + state[3] > 0)

    def end(self, state, prev_reward):
        pass
"""
FAILS_LATER = LEANING.replace("class Player:", "STARTED = []\nclass Player:").replace(
    "    def start(self, state, valid_actions):\n",
    "    def start(self, state, valid_actions):\n"
    "        STARTED.append(1)\n"
    "        assert len(STARTED) <= 4, f'I saw {state.tolist()}'\n",
)
"""Plays the public seeds, which are fewer, and fails on the hidden ones."""


class Leaning:
    """The same in this process."""

    def start(self, state: Any, valid_actions: Any) -> int:
        return int(state[2] + state[3] > 0)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        return int(state[2] + state[3] > 0)

    def end(self, state: Any, prev_reward: float) -> None:
        pass


@pytest.fixture
def task() -> Environment:
    return factories.task(episodes=EPISODES)


def records_of(evaluation: Evaluation) -> EvaluationRecord:
    with evaluation.records.open() as file:
        return EvaluationArchive(file).record()


def test_an_upload_is_built_practised_evaluated_and_ranked(sandbox: str, task: Environment) -> None:
    submission = upload(task, "anna", LEANING)

    deliver_messages(drawing=False)

    evaluation = submission.evaluations.get()
    assert (evaluation.state, evaluation.error) == (JobState.SUCCEEDED, "")
    assert evaluation.seed_list is not None
    # All who know the seeds can play the same again.
    again = [referee.run_episode(get_spec("cart-pole"), Leaning(), seed) for seed in evaluation.seed_list.seeds]
    scores = [episode.score for episode in again]
    assert [row[:3] for row in evaluation.episodes] == [
        [number, episode.score, episode.length] for number, episode in enumerate(again, start=1)
    ]
    assert (evaluation.score, evaluation.episodes_done) == (summarise_scores(scores).mean.value, EPISODES)
    record = records_of(evaluation)
    assert [(e.seed, e.actions) for e in record.episodes] == [(e.seed, e.actions) for e in again]
    assert evaluation.runtime.startswith("gymnasium ")
    assert standing(task).get() == evaluation
    validation = submission.validations.get()
    # Practice is shown while the seeds are hidden; where all of it scores the same, one episode stands for all.
    practised = {episode.score for episode in practice_results(validation)}
    assert Recording.objects.filter(evaluation=evaluation).count() == (3 if len(practised) > 1 else 1)
    assert (validation.state, validation.matches_done) == (JobState.SUCCEEDED, 2)
    practice = practice_list(task)
    assert practice is not None
    with validation.records.open() as file:
        assert [episode.seed for episode in EvaluationArchive(file).episodes()] == practice.seeds


@pytest.mark.nightly
def test_a_player_that_cannot_be_forked_gets_a_fresh_container_for_every_evaluation(
    sandbox: str, task: Environment
) -> None:
    submission = upload(task, "anna", UNFORKABLE)

    deliver_messages(drawing=False)

    validation = submission.validations.get()
    assert validation.state == JobState.SUCCEEDED, validation.error
    assert "player_died" in validation.log
    assert "this version always plays in a fresh container" in validation.log
    submission.refresh_from_db()
    assert submission.needs_fresh_container
    assert submission.evaluations.get().state == JobState.SUCCEEDED


def test_a_player_that_fails_on_public_seeds_is_never_evaluated(sandbox: str, task: Environment) -> None:
    submission = upload(task, "anna", LEANING.replace("return int(", "return float("))

    deliver_messages()

    validation = submission.validations.get()
    assert (validation.state, validation.fault, validation.error_code) == ("FAILED", "PLAYER", "illegal_action")
    assert validation.error.startswith("Episode ")
    submission.refresh_from_db()
    assert not submission.needs_fresh_container
    assert not Evaluation.objects.exists()


def test_a_player_that_fails_on_hidden_seeds_has_no_place_and_its_output_stays_out_of_the_reason(
    sandbox: str, task: Environment
) -> None:
    submission = upload(task, "anna", FAILS_LATER)

    deliver_messages(drawing=False)

    evaluation = submission.evaluations.get()
    assert (evaluation.state, evaluation.fault, evaluation.error_code) == ("FAILED", "PLAYER", "player_raised")
    assert "The player raised an exception" in evaluation.error
    assert "ready" not in evaluation.error
    assert (evaluation.score, evaluation.is_current) == (None, False)
    # What was finished before is kept, to look into.
    assert len(records_of(evaluation).episodes) == evaluation.episodes_done == len(evaluation.episodes)
    with evaluation.player_log.open() as file:
        assert b"AssertionError" in file.read()
    assert not standing(task).exists()
    assert not Recording.objects.exists()


# --- The platform ----------------------------------------------------------------------------------------


@pytest.fixture
def submission(task: Environment) -> Submission:
    return factories.ready(factories.agent(factories.user("alice"), task, "anna"))


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (SandboxError("No Docker engine answers.", code="no_engine"), "no_engine"),
        (PlatformFault("The environment cart-pole-v1 failed: KeyError", code="environment_failed"),
         "environment_failed"),
    ],
    ids=["sandbox", "environment"],
)  # fmt: skip
@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_a_fault_of_the_platform_gives_the_job_back(
    sandbox: str, submission: Submission, fault: Exception, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = factories.evaluation(submission, JobState.QUEUED)

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(referee, "run_evaluation", fail)
    run(row)

    row.refresh_from_db()
    assert (row.state, row.fault, row.error_code, row.attempt) == (JobState.QUEUED, JobFault.PLATFORM, code, 1)
    assert row.error == str(fault)
    assert row.not_before is not None
    assert not row.records


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_rules_that_are_gone_are_the_platforms_fault(sandbox: str, submission: Submission) -> None:
    row = factories.evaluation(submission, JobState.QUEUED, environment_version="cart-pole-v0")

    run(row)

    row.refresh_from_db()
    assert (row.state, row.error_code) == (JobState.QUEUED, "rules_missing")


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_how_far_an_evaluation_is_reaches_its_row_while_it_runs(
    sandbox: str, submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = factories.evaluation(submission, JobState.QUEUED, episodes=[[1, 9.0, 9, 0.1]] * 3, episodes_done=3)
    seen: list[tuple[int, Any]] = []
    claimed = job_claim(kind=Evaluation, job_id=row.pk, worker="worker-1")
    assert claimed is not None
    # Its thread is not started: this test is its clock.
    lease = Lease(claimed)

    def look() -> None:
        lease.beat()
        row.refresh_from_db()
        seen.append((row.episodes_done, row.episodes))

    def play(spec: object, launch: object, *, name: str, seeds: list[int], on_episode: Any, **_: object) -> Any:
        look()
        episodes = tuple(
            referee.run_episode(get_spec("cart-pole"), Leaning(), seed, number=number)
            for number, seed in enumerate(seeds, start=1)
        )
        for episode in reversed(episodes):
            on_episode(episode)
            look()
        return referee.PlayedEvaluation(EvaluationRecord("cart-pole-v1", "", name, episodes), None, "", 1.0)

    monkeypatch.setattr(referee, "run_evaluation", play)
    tasks.evaluate(claimed, lease)

    # What an earlier attempt has left is gone at once.
    assert seen[0] == (0, [])
    assert [done for done, _ in seen] == list(range(EPISODES + 1))
    assert all(len(episodes) == done for done, episodes in seen)
    assert [number for number, *_ in seen[-1][1]] == list(range(EPISODES, 0, -1))
    row.refresh_from_db()
    assert (row.state, [number for number, *_ in row.episodes]) == ("SUCCEEDED", list(range(1, EPISODES + 1)))
    assert json.loads(json.dumps(row.episodes)) == row.episodes


@pytest.mark.parametrize("sandbox", ["process"], indirect=True)
def test_a_practice_without_seeds_says_what_to_do(sandbox: str, submission: Submission) -> None:
    submission.agent.environment.seed_lists.all().delete()
    validation = factories.validation(submission, JobState.QUEUED)

    run(validation)

    validation = Validation.objects.get(pk=validation.pk)
    assert (validation.state, validation.error_code) == (JobState.QUEUED, "no_seeds")
    assert "manage.py sync_environments" in validation.error


@pytest.mark.parametrize("fault", [JobFault.PLATFORM, JobFault.PLAYER])
def test_the_same_archive_again_is_evaluated_again_only_where_the_arena_had_failed(
    task: Environment, fault: JobFault
) -> None:
    submission = upload(task, "anna", LEANING)
    factories.moved(Build.objects.all(), JobState.SUCCEEDED)
    factories.validation(submission)
    factories.evaluation(submission, JobState.FAILED, scores=(), fault=fault)
    said: list[str] = []

    again = submission_create(agent=submission.agent, archive=archive(LEANING), tell=said.append)

    is_evaluated = fault == JobFault.PLATFORM
    assert again == submission
    assert submission.evaluations.filter(state=JobState.QUEUED).exists() is is_evaluated
    assert said[0].endswith("now evaluates it again." if is_evaluated else "so nothing new was uploaded.")
    assert Build.objects.count() == 1
