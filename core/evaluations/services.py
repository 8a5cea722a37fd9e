"""Evaluations: asked for once a submission may play, finished with their place on the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from django.db import transaction

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.ranking.scores import summarise_scores
from core.errors import Refused
from core.evaluations.selectors import evaluation_to_stand_with, is_evaluated, ranking_list, submissions_to_rank
from core.jobs.artifacts import EvaluationArtifacts
from core.jobs.lifecycle import job_cancel_if_open, job_enqueue, job_fail, job_succeed, written_once
from core.jobs.states import seconds_running
from core.models import (
    Agent,
    CancelCode,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    Recording,
    Submission,
    SubmissionForm,
)
from core.operations.metrics import evaluation_completed, matches_played
from core.submissions.phase_selectors import validation_of

EpisodeRow = tuple[int, float, int, float]
"""Number, score, length in steps, thinking seconds: what an evaluation's row keeps of each episode."""
OPEN = (JobState.QUEUED, JobState.RUNNING)


def evaluation_create(*, submission: Submission) -> Evaluation:
    """Have a submission evaluated: a player on the seeds that its environment is ranked by now, a script as it is."""
    is_verified = submission.form == SubmissionForm.PLAYER
    with transaction.atomic():
        # A final phase that begins meanwhile would leave this evaluation behind, on seeds that count no more.
        environment = _environment_lock(submission)
        seed_list = ranking_list(environment) if is_verified else None
        assert seed_list is not None or not is_verified, "sync_environments gives every one-seat environment a list"
        evaluation = Evaluation.objects.create(
            submission=submission,
            agent=submission.agent,
            environment=environment,
            environment_version=environment.spec_id,
            seed_list=seed_list,
            is_verified=is_verified,
            episode_count=len(seed_list.seeds) if seed_list else 0,
        )
        job_enqueue(job=evaluation)
    return evaluation


def evaluation_ensure(*, submission: Submission) -> None:
    """Have a player evaluated that was just validated, unless it has a score by today's rules and seeds.

    One that is built again keeps it: what stands on a board does not change with the machine.
    """
    with transaction.atomic():
        # Before it is asked what ranks: a final phase that begins meanwhile does not see yet that this one is valid.
        if not is_evaluated(submission, _environment_lock(submission)):
            evaluation_create(submission=submission)


def evaluation_again(*, submission: Submission) -> Evaluation:
    """Evaluate a submission once more, e.g. after a platform fault; the old one stays as history. Raises Refused."""
    with transaction.atomic():
        agent_lock(submission.agent_id)
        submission = Submission.objects.select_for_update(of=("self",), no_key=True).get(pk=submission.pk)
        if submission.deleted_at is not None:
            raise Refused("A deleted submission cannot be evaluated.")
        if not submission.agent.environment.is_scored:
            raise Refused(f"{submission.agent.environment} is not ranked by scores.")
        # Of its latest build: while it is built again it has no image, or one that goes.
        last = submission.latest_build if submission.form == SubmissionForm.SCRIPT else validation_of(submission)
        if last is None or last.state != JobState.SUCCEEDED:
            raise Refused("Only versions that are built and validated are evaluated; build it again first.")
        if submission.image_removed_at is not None:
            raise Refused("Its image is not kept any longer; build it again first.")
        if submission.evaluations.filter(state__in=OPEN).exists():
            raise Refused("An evaluation of it waits or runs already.")
        return evaluation_create(submission=submission)


def evaluations_renew(*, environment: Environment, reason: str) -> list[Evaluation]:
    """Evaluate everyone's newest version anew, because rules or seeds have changed; return the new evaluations.

    What stands on the board stays there until its agent's new evaluation is over; what is not evaluated again leaves
    it. Scripts stay as they are. Call it in a transaction that holds the environment's row. reason: for the
    evaluations that are cancelled because they would not count.
    """
    for evaluation in environment.evaluations.filter(is_verified=True, state__in=OPEN).select_for_update():
        job_cancel_if_open(job=evaluation, code=CancelCode.SUPERSEDED, reason=reason)
    submissions = submissions_to_rank(environment)
    standing = environment.evaluations.filter(is_verified=True, is_current=True)
    standing.exclude(agent__in=[submission.agent_id for submission in submissions]).update(is_current=False)
    return [evaluation_create(submission=submission) for submission in submissions]


def episode_row(record: EpisodeRecord) -> EpisodeRow:
    """What an evaluation's row keeps of an episode."""
    return (record.number, record.score, record.length, round(record.thinking_seconds, 6))


@written_once
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
    with transaction.atomic():
        agent = agent_lock(evaluation.agent_id)
        job_succeed(
            job=evaluation,
            log=log,
            runtime=runtime,
            **result_fields(episodes),
            **asdict(artifacts),
        )
        standing_decide(agent=agent)
        _count(evaluation, agent, episodes)
        for choice, number in _episodes_to_record(episodes).items():
            job_enqueue(job=Recording.objects.create(evaluation=evaluation, choice=choice, episode_number=number))


def result_fields(episodes: Sequence[EpisodeRow]) -> dict[str, object]:
    """The fields of an evaluation's row that follow from its episodes."""
    summary = summarise_scores([score for _, score, _, _ in episodes])
    moves = sum(length for _, _, length, _ in episodes)
    return {
        "score": summary.mean.value,
        "score_low": summary.mean.low,
        "score_high": summary.mean.high,
        "interquartile_mean": summary.interquartile_mean,
        "median": summary.median,
        "worst_decile": summary.worst_decile,
        "seconds_per_move": sum(seconds for *_, seconds in episodes) / max(1, moves),
        "episodes": list(episodes),
        "episodes_done": len(episodes),
    }


@written_once
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
        agent = agent_lock(evaluation.agent_id)
        job_succeed(
            job=evaluation,
            log=log,
            score=score,
            metrics=metrics,
            episode_count=episode_count,
            episodes_done=episode_count,
            **asdict(artifacts),
        )
        standing_decide(agent=agent)
        evaluation_completed(env_id=agent.environment.env_id, seconds=seconds_running(evaluation))


@written_once
def evaluation_fail(
    *,
    evaluation: Evaluation,
    episodes: list[EpisodeRow],
    artifacts: EvaluationArtifacts,
    code: str,
    error: str,
    public_error: str = "",
    log: str,
) -> None:
    """The submission failed by a fault of its own: this evaluation gives it no place. Raises StaleJob."""
    with transaction.atomic():
        agent = agent_lock(evaluation.agent_id)
        job_fail(
            job=evaluation,
            fault=JobFault.PLAYER,
            code=code,
            error=error,
            public_error=public_error,
            log=log,
            episodes=episodes,
            episodes_done=len(episodes),
            **asdict(artifacts),
        )
        standing_decide(agent=agent)


def _count(evaluation: Evaluation, agent: Agent, episodes: list[EpisodeRow]) -> None:
    env_id = agent.environment.env_id
    evaluation_completed(env_id=env_id, seconds=seconds_running(evaluation))
    moves = sum(length for _, _, length, _ in episodes)
    matches_played(kind=evaluation.KIND, env_id=env_id, matches=len(episodes), moves=moves)


def agent_lock(agent_id: int) -> Agent:
    """Hold an agent's row until the transaction ends: only who holds it may change what the agent stands with.

    Rows that refer to the agent can be written meanwhile. Everybody takes rows in one order, or each of two might wait
    for the other: a person, their agents by key, the agents' jobs, submissions, environments by key; of an edition its
    own row, participants by key, duels by key. Only `evaluations_renew` has an environment before its open evaluations:
    nobody who holds one of those asks for the environment.
    """
    agents = Agent.objects.select_related("environment")
    return agents.select_for_update(of=("self",), no_key=True).get(pk=agent_id)


def _environment_lock(submission: Submission) -> Environment:
    """Hold the row of its environment: its rules and the seeds that rank stay until the transaction ends."""
    return Environment.objects.select_for_update(no_key=True).get(pk=submission.agent.environment_id)


def standing_decide(*, agent: Agent) -> None:
    """Let a locked agent stand on the board with the evaluation that it should stand with, or with none."""
    chosen = evaluation_to_stand_with(agent)
    others = Evaluation.objects.filter(agent=agent, is_current=True)
    # First the old one: there is never more than one.
    (others if chosen is None else others.exclude(pk=chosen.pk)).update(is_current=False)
    if chosen is not None and not chosen.is_current:
        Evaluation.objects.filter(pk=chosen.pk).update(is_current=True)


def _episodes_to_record(episodes: list[EpisodeRow]) -> dict[Recording.Choice, int]:
    """The numbers of the best, the median and the worst episode; of equal ones the first."""
    ranked = sorted(episodes, key=lambda row: (-row[1], row[0]))
    last = next(row for row in ranked if row[1] == ranked[-1][1])
    return {
        Recording.Choice.BEST: ranked[0][0],
        Recording.Choice.MEDIAN: ranked[(len(ranked) - 1) // 2][0],
        Recording.Choice.WORST: last[0],
    }
