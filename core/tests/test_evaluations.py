"""How evaluations end, and what an agent stands on the board with."""

from __future__ import annotations

import random
from dataclasses import replace
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.environment.registry import get_spec
from arena_kit.ranking.scores import summarise_scores
from core.environments.services import environment_sync
from core.errors import Refused
from core.evaluations.board import standing
from core.evaluations.services import (
    EpisodeRow,
    evaluation_again,
    evaluation_create,
    evaluation_fail,
    evaluation_succeed,
    script_succeed,
)
from core.jobs.artifacts import DuelArtifacts, EvaluationArtifacts, evaluation_stored
from core.jobs.lifecycle import job_cancel, job_claim
from core.jobs.states import StaleJob
from core.models import (
    Agent,
    CancelCode,
    Environment,
    Evaluation,
    JobState,
    Recording,
    SeedPurpose,
    Submission,
    Validation,
)
from core.moderation.services import agent_disable, agent_enable
from core.submissions.phases import build_succeed, validation_succeed
from core.submissions.services import submission_delete, submission_rebuild
from core.tests import factories

pytestmark = pytest.mark.django_db
SCORES = [30.0, 10.0, 40.0, 20.0]


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def agent(task: Environment) -> Agent:
    return factories.agent(factories.user("alice"), task, "anna")


def rows(scores: list[float]) -> list[EpisodeRow]:
    return [(number, score, 10, 0.05) for number, score in enumerate(scores, start=1)]


def running(submission: Submission) -> Evaluation:
    """A new evaluation that a worker has claimed."""
    claimed = job_claim(kind=Evaluation, job_id=evaluation_create(submission=submission).pk, worker="worker-1")
    assert claimed is not None
    return claimed


def succeed(evaluation: Evaluation, scores: list[float] = SCORES) -> Evaluation:
    evaluation_succeed(
        evaluation=evaluation, episodes=rows(scores), runtime="test 1", artifacts=EvaluationArtifacts(), log="played"
    )
    evaluation.refresh_from_db()
    return evaluation


def fail(evaluation: Evaluation) -> None:
    evaluation_fail(
        evaluation=evaluation,
        episodes=rows([99.0]),
        artifacts=EvaluationArtifacts(),
        code="player_died",
        error="Episode 2: The player's process ended in the middle of its play.",
        log="",
    )


def stands_with(agent: Agent) -> Evaluation | None:
    return standing(agent.environment).filter(agent=agent).first()


# --- One evaluation --------------------------------------------------------------------------------------


def test_a_good_evaluation_holds_what_the_board_shows_and_puts_its_agent_there(agent: Agent) -> None:
    evaluation = succeed(running(factories.ready(agent)))

    summary = summarise_scores(SCORES)
    assert (evaluation.state, evaluation.is_current, evaluation.is_verified) == (JobState.SUCCEEDED, True, True)
    assert (evaluation.score, evaluation.score_low, evaluation.score_high) == (
        25.0,
        summary.mean.low,
        summary.mean.high,
    )
    assert (evaluation.interquartile_mean, evaluation.median, evaluation.worst_decile) == (25.0, 25.0, 10.0)
    assert evaluation.seconds_per_move == pytest.approx(4 * 0.05 / 40)
    assert evaluation.episodes == [list(row) for row in rows(SCORES)]
    assert (evaluation.episodes_done, evaluation.episode_count, evaluation.runtime) == (4, 4, "test 1")
    assert stands_with(agent) == evaluation


def test_best_median_and_worst_episode_are_drawn_where_the_seeds_are_public(agent: Agent) -> None:
    agent.environment.seed_lists.update(revealed_at=timezone.now())
    evaluation = succeed(running(factories.ready(agent)), [30.0, 10.0, 40.0, 40.0])

    drawn = Recording.objects.filter(evaluation=evaluation).values_list("choice", "episode_number", "state")
    assert sorted(drawn) == [("BEST", 3, "QUEUED"), ("MEDIAN", 4, "QUEUED"), ("WORST", 2, "QUEUED")]
    assert not evaluation.recordings.exclude(practice=None).exists()


def test_episodes_on_hidden_seeds_are_not_drawn_but_those_of_practice(agent: Agent) -> None:
    submission = factories.ready(agent)
    evaluation = succeed(running(submission), [30.0, 10.0, 40.0, 40.0])
    assert not evaluation.recordings.exists()

    validation = submission.validations.get()
    episodes = tuple(EpisodeRecord(number, number, (0, 1), float(number), truncated=False) for number in (1, 2))
    record = EvaluationRecord("cart-pole-v1", "", "anna", episodes)
    with evaluation_stored(job=validation, record=record, player_log="", digest="") as stored:
        Validation.objects.filter(pk=validation.pk).update(records=stored.records)
    evaluation = succeed(running(Submission.objects.get(pk=submission.pk)), [30.0, 10.0, 40.0, 40.0])

    drawn = evaluation.recordings.values_list("choice", "episode_number", "practice")
    assert sorted(drawn) == [("BEST", 2, validation.pk), ("MEDIAN", 2, validation.pk), ("WORST", 1, validation.pk)]


def test_a_failed_evaluation_counts_for_nothing_and_says_why(agent: Agent) -> None:
    evaluation = running(factories.ready(agent))
    fail(evaluation)

    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.fault, evaluation.error_code) == ("FAILED", "PLAYER", "player_died")
    assert (evaluation.score, evaluation.is_current, evaluation.episodes_done) == (None, False, 1)
    assert stands_with(agent) is None
    assert not Recording.objects.exists()


def test_a_script_stands_with_what_it_has_reported_of_itself(agent: Agent) -> None:
    evaluation = running(factories.script(agent))
    assert (evaluation.seed_list, evaluation.is_verified, evaluation.episode_count) == (None, False, 0)

    script_succeed(
        evaluation=evaluation,
        score=195.5,
        metrics={"loss": 0.5},
        episode_count=100,
        artifacts=EvaluationArtifacts(),
        log="",
    )

    evaluation.refresh_from_db()
    assert (evaluation.score, evaluation.metrics, evaluation.episode_count) == (195.5, {"loss": 0.5}, 100)
    assert (evaluation.is_current, evaluation.score_low, evaluation.episodes) == (True, None, [])


def test_a_lost_claim_writes_nothing_and_leaves_no_file(agent: Agent) -> None:
    evaluation = running(factories.ready(agent))
    Evaluation.objects.filter(pk=evaluation.pk).update(claim_token=uuid4())
    record = EvaluationRecord("cart-pole-v1", "", "anna v1", (EpisodeRecord(1, 5, (0, 1), 2.0, False),))
    names: list[str] = []

    def store_and_finish() -> None:
        with evaluation_stored(job=evaluation, record=record, player_log="hello", digest="sha256:1") as artifacts:
            names.extend([artifacts.records, artifacts.player_log])
            assert all(default_storage.exists(name) for name in names)
            evaluation_succeed(evaluation=evaluation, episodes=rows([2.0]), runtime="", artifacts=artifacts, log="")

    with pytest.raises(StaleJob):
        store_and_finish()

    row = Evaluation.objects.get(pk=evaluation.pk)
    assert (row.state, row.score, row.records.name, row.is_current) == (JobState.RUNNING, None, "", False)
    assert not Recording.objects.exists()
    assert len(names) == 2
    assert not any(default_storage.exists(name) for name in names)


def test_the_files_of_a_good_evaluation_stay(agent: Agent) -> None:
    evaluation = running(factories.ready(agent))
    record = EvaluationRecord("cart-pole-v1", "", "anna v1", (EpisodeRecord(1, 5, (0, 1), 2.0, False),))

    with evaluation_stored(job=evaluation, record=record, player_log="hello", digest="sha256:1") as artifacts:
        evaluation_succeed(evaluation=evaluation, episodes=rows([2.0]), runtime="", artifacts=artifacts, log="")

    row = Evaluation.objects.get(pk=evaluation.pk)
    with row.player_log.open() as log:
        assert log.read() == b"hello"
    assert (row.player_digest, len(row.record_sha256), row.records.size > 100) == ("sha256:1", 64, True)


# --- What an agent stands with ---------------------------------------------------------------------------


def test_a_newer_version_takes_the_place_whatever_it_scores(agent: Agent) -> None:
    first = succeed(running(factories.ready(agent)))
    second = succeed(running(factories.ready(agent)), [1.0, 1.0, 1.0, 1.0])

    first.refresh_from_db()
    assert (first.is_current, stands_with(agent)) == (False, second)


def test_an_older_version_that_finishes_late_changes_nothing(agent: Agent) -> None:
    old = running(factories.ready(agent))
    new = succeed(running(factories.ready(agent)), [1.0, 1.0, 1.0, 1.0])

    succeed(old)

    assert (old.state, old.is_current, stands_with(agent)) == (JobState.SUCCEEDED, False, new)


def test_of_one_version_the_evaluation_counts_that_was_asked_for_last(agent: Agent) -> None:
    submission = factories.ready(agent)
    first, second = running(submission), running(submission)

    succeed(second, [5.0] * 4)
    succeed(first)

    assert stands_with(agent) == second


def test_a_version_that_fails_leaves_the_one_before_where_it_stands(agent: Agent) -> None:
    first = succeed(running(factories.ready(agent)))

    fail(running(factories.ready(agent)))

    assert stands_with(agent) == first


def test_a_script_may_follow_a_player_and_the_other_way_round(agent: Agent) -> None:
    succeed(running(factories.ready(agent)))
    factories.script_evaluation(script := factories.script(agent))
    assert stands_with(agent) == script.evaluations.get()

    third = succeed(running(factories.ready(agent)))
    assert stands_with(agent) == third


def test_a_deleted_version_makes_way_for_the_one_before(agent: Agent) -> None:
    first = succeed(running(factories.ready(agent)))
    second = succeed(running(factories.ready(agent)))

    submission_delete(submission=second.submission)
    assert stands_with(agent) == first

    submission_delete(submission=first.submission)
    assert stands_with(agent) is None
    assert Evaluation.objects.filter(state=JobState.SUCCEEDED, is_current=False).count() == 2


def test_deleting_a_submission_stops_its_evaluation_and_its_late_result_is_refused(agent: Agent) -> None:
    evaluation = running(factories.ready(agent))

    submission_delete(submission=evaluation.submission)

    with pytest.raises(StaleJob):
        succeed(evaluation)
    assert Evaluation.objects.get().state == JobState.CANCELLED
    assert stands_with(agent) is None


def test_building_again_stops_the_evaluation_of_what_was_built_before(agent: Agent) -> None:
    evaluation = running(factories.ready(agent))

    submission_rebuild(submission=evaluation.submission)

    evaluation.refresh_from_db()
    assert evaluation.state == JobState.CANCELLED


def test_a_disabled_agent_is_off_the_board_until_it_is_enabled(agent: Agent) -> None:
    agent_disable(agent=agent, reason="It copies another.")
    evaluation = succeed(running(factories.ready(agent)))
    agent.refresh_from_db()
    assert stands_with(agent) is None

    agent_enable(agent=agent)
    assert stands_with(agent) == evaluation


def test_an_agent_never_stands_with_two_evaluations(agent: Agent) -> None:
    submission = factories.ready(agent)
    succeed(running(submission))
    second = factories.evaluation(submission, JobState.FAILED, scores=())

    with pytest.raises(IntegrityError), transaction.atomic():
        factories.moved(Evaluation.objects.filter(pk=second.pk), JobState.SUCCEEDED, is_current=True, score=1.0)
    with pytest.raises(IntegrityError), transaction.atomic():
        Evaluation.objects.filter(pk=second.pk).update(is_current=True)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_in_whatever_order_the_newest_good_version_stands(agent: Agent, seed: int) -> None:
    rng = random.Random(seed)
    versions = [factories.ready(agent) for _ in range(3)]
    open_evaluations = [running(version) for version in versions for _ in range(2)]
    rng.shuffle(open_evaluations)
    deleted: set[int] = set()
    good: list[Evaluation] = []
    for evaluation in open_evaluations:
        if rng.random() < 0.2 and len(deleted) < 2:
            victim = rng.choice(versions)
            submission_delete(submission=victim)
            deleted.add(victim.pk)
        how = rng.choice(["succeed", "succeed", "fail", "cancel"])
        try:
            match how:
                case "fail":
                    fail(evaluation)
                case "cancel":
                    job_cancel(job=evaluation, code=CancelCode.BY_ORGANISER, reason="test")
                case _:
                    succeed(evaluation)
                    good.append(evaluation)
        except StaleJob:
            assert evaluation.submission_id in deleted
            continue
        left = [job for job in good if job.submission_id not in deleted]
        expected = max(left, key=lambda job: (job.submission.number, job.pk), default=None)
        # A cancellation alone decides nothing, and cannot: it has no result.
        assert stands_with(agent) == expected


# --- How they come to be ---------------------------------------------------------------------------------


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
