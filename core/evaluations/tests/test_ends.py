"""How evaluations end, and what an agent stands on the board with."""

from __future__ import annotations

import random
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone

from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord
from arena_kit.ranking.scores import summarise_scores
from core.evaluations.services import (
    evaluation_succeed,
    script_succeed,
)
from core.evaluations.tests.evaluated import SCORES, fail, rows, running, stands_with, succeed
from core.jobs.artifacts import EvaluationArtifacts, evaluation_stored
from core.jobs.control import job_cancel
from core.jobs.states import StaleJob
from core.models import (
    Agent,
    CancelCode,
    Environment,
    Evaluation,
    JobState,
    Notice,
    NoticeKind,
    Recording,
    Submission,
    Validation,
)
from core.moderation.services import agent_disable, agent_enable
from core.submissions.existing import submission_delete, submission_rebuild
from core.tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Environment:
    return factories.task()


@pytest.fixture
def agent(task: Environment) -> Agent:
    return factories.agent(factories.user("alice"), task, "anna")


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


def test_its_owner_hears_the_score_and_only_the_newest_while_unread(agent: Agent) -> None:
    version = factories.ready(agent)
    succeed(running(version))
    notice = Notice.objects.get(kind=NoticeKind.EVALUATED)
    assert notice.title == f"{version} scored 25"
    assert notice.text.startswith(f"{version} scored 25 (95% interval ")
    assert notice.text.endswith(f"in CartPole. {agent.name} stands on the board with it.")
    later = succeed(running(version), [500.0] * 4)
    told = Notice.objects.get(kind=NoticeKind.EVALUATED)
    assert "The task counts as solved from 475 on, so it is solved." in told.text
    assert told.address == f"/evaluations/{later.pk}/"


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
