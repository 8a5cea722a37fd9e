"""Evaluations: asked for once a submission may play, finished with their place on the board."""

from __future__ import annotations

from dataclasses import asdict

from django.db import transaction

from core.models import Evaluation, JobFault, Recording, SeedList, Submission, SubmissionForm
from core.scores import summarise_scores
from core.selectors.evaluations import ranking_list
from core.services.artifacts import EvaluationArtifacts
from core.services.jobs import job_fail, job_succeed, job_wake
from environments.episodes import EpisodeRecord

EpisodeRow = tuple[int, float, int, float]
"""Number, score, length in steps, thinking seconds: what an evaluation's row keeps of each episode."""


def evaluation_create(*, submission: Submission, seed_list: SeedList | None = None) -> Evaluation:
    """Have a submission evaluated: a player on the seeds that its environment is ranked by now, a script as it is."""
    environment = submission.agent.environment
    is_verified = submission.form == SubmissionForm.PLAYER
    if is_verified and seed_list is None:
        seed_list = ranking_list(environment)
        assert seed_list is not None, "sync_environments gives every one-seat environment a list"
    evaluation = Evaluation.objects.create(
        submission=submission,
        agent=submission.agent,
        environment=environment,
        environment_version=environment.spec_id,
        seed_list=seed_list,
        is_verified=is_verified,
        episode_count=len(seed_list.seeds) if seed_list else 0,
    )
    job_wake(job=evaluation)
    return evaluation


def episode_row(record: EpisodeRecord) -> EpisodeRow:
    """What an evaluation's row keeps of an episode."""
    return (record.number, record.score, record.length, round(record.thinking_seconds, 6))


def evaluation_succeed(
    *,
    evaluation: Evaluation,
    episodes: list[EpisodeRow],
    runtime: str,
    artifacts: EvaluationArtifacts,
    log: str,
) -> None:
    """Rank a submission by its episodes. Raises StaleJob when the claim was lost.

    episodes: one row for every seed of the list, in their order.
    """
    summary = summarise_scores([score for _, score, _, _ in episodes])
    moves = sum(length for _, _, length, _ in episodes)
    with transaction.atomic():
        job_succeed(
            job=evaluation,
            log=log,
            score=summary.mean.value,
            score_low=summary.mean.low,
            score_high=summary.mean.high,
            interquartile_mean=summary.interquartile_mean,
            median=summary.median,
            worst_decile=summary.worst_decile,
            seconds_per_move=sum(seconds for *_, seconds in episodes) / max(1, moves),
            episodes=episodes,
            episodes_done=len(episodes),
            runtime=runtime,
            **asdict(artifacts),
        )
        _make_current(evaluation)
        for choice, number in _episodes_to_record(episodes).items():
            job_wake(job=Recording.objects.create(evaluation=evaluation, choice=choice, episode_number=number))


def script_succeed(
    *,
    evaluation: Evaluation,
    score: float,
    metrics: list[float] | dict[str, float],
    episode_count: int,
    artifacts: EvaluationArtifacts,
    log: str,
) -> None:
    """Rank a script by the score that it reported. Raises StaleJob when the claim was lost."""
    with transaction.atomic():
        job_succeed(
            job=evaluation,
            log=log,
            score=score,
            metrics=metrics,
            episode_count=episode_count,
            episodes_done=episode_count,
            **asdict(artifacts),
        )
        _make_current(evaluation)


def evaluation_fail(
    *,
    evaluation: Evaluation,
    episodes: list[EpisodeRow],
    artifacts: EvaluationArtifacts,
    code: str,
    error: str,
    log: str,
) -> None:
    """The submission failed by a fault of its own: it keeps no place by this evaluation."""
    fields = asdict(artifacts)
    job_fail(
        job=evaluation,
        fault=JobFault.PLAYER,
        code=code,
        error=error,
        log=log,
        episodes=episodes,
        episodes_done=len(episodes),
        **fields,
    )


def _make_current(evaluation: Evaluation) -> None:
    """Let an agent stand on the board with this evaluation, unless a newer version or newer seeds do already."""
    others = Evaluation.objects.select_for_update().filter(agent=evaluation.agent_id, is_current=True)
    for other in others.exclude(pk=evaluation.pk):
        if (other.submission.number, other.seed_list_id or 0) > (
            evaluation.submission.number,
            evaluation.seed_list_id or 0,
        ):
            return
    others.update(is_current=False)
    Evaluation.objects.filter(pk=evaluation.pk).update(is_current=True)


def _episodes_to_record(episodes: list[EpisodeRow]) -> dict[Recording.Choice, int]:
    """The numbers of the best, the median and the worst episode; of equal ones the first."""
    ranked = sorted(episodes, key=lambda row: (-row[1], row[0]))
    last = next(row for row in ranked if row[1] == ranked[-1][1])
    return {
        Recording.Choice.BEST: ranked[0][0],
        Recording.Choice.MEDIAN: ranked[(len(ranked) - 1) // 2][0],
        Recording.Choice.WORST: last[0],
    }
