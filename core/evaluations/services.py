"""Evaluations: created once a submission may play, finished together with their place on the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from django.db import transaction

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.ranking.scores import summarise_scores
from core.duels.selectors import NotStored
from core.errors import Refused
from core.evaluations.episodes import practice_results, seeds_hidden
from core.evaluations.notices import evaluation_ended
from core.evaluations.selectors import evaluation_to_stand_with, is_evaluated, ranking_list, submissions_to_rank
from core.jobs.artifacts import EvaluationArtifacts
from core.jobs.control import job_cancel_if_open
from core.jobs.lifecycle import job_enqueue, job_fail, job_succeed
from core.jobs.locks import agent_lock
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.jobs.phase_selectors import validation_of
from core.jobs.states import OPEN, seconds_running
from core.jobs.written import written_once
from core.models import (
    Agent,
    Assignment,
    CancelCode,
    Environment,
    Evaluation,
    JobFault,
    JobState,
    Recording,
    SeedList,
    Submission,
    SubmissionForm,
    Tournament,
    Validation,
)
from core.monitoring.metrics import evaluation_completed, matches_played

EpisodeRow = tuple[int, float, int, float]
"""The values of each episode in an evaluation's row: number, score, length in steps, thinking seconds."""


def evaluation_create(*, submission: Submission, assignment: Assignment | None = None) -> Evaluation:
    """Create an evaluation: of a player on the seeds that rank its environment now, of a script without seeds.

    assignment: for which it is, on the seeds of that; it is on no board.
    """
    is_verified = submission.form != SubmissionForm.SCRIPT
    with transaction.atomic():
        # A final phase that begins meanwhile would leave this evaluation on seeds that no longer count.
        environment = _environment_lock(submission)
        seed_list = ranking_list(environment) if is_verified else None
        if assignment is not None:
            seed_list = assignment.seed_list
        assert seed_list is not None or not is_verified, "sync_environments gives every one-seat environment a list"
        return evaluation_new(
            submission=submission, seed_list=seed_list, environment_version=environment.spec_id, assignment=assignment
        )


def evaluation_new(
    *,
    submission: Submission,
    seed_list: SeedList | None,
    environment_version: str,
    **of: Assignment | Tournament | None,
) -> Evaluation:
    """Put an evaluation in line. seed_list: None for a script. of: the assignment or tournament in which it counts."""
    evaluation = Evaluation.objects.create(
        submission=submission,
        agent=submission.agent,
        environment=submission.agent.environment,
        environment_version=environment_version,
        seed_list=seed_list,
        is_verified=seed_list is not None,
        episode_count=len(seed_list.seeds) if seed_list else 0,
        **of,
    )
    job_enqueue(job=evaluation)
    return evaluation


def evaluation_ensure(*, submission: Submission) -> None:
    """Evaluate a player that was just validated, unless it has a score by today's rules and seeds.

    A rebuilt version keeps its score: the board does not change with the machine.
    """
    with transaction.atomic():
        # The lock comes first: a final phase that begins meanwhile does not see this submission as valid yet.
        if not is_evaluated(submission, _environment_lock(submission)):
            evaluation_create(submission=submission)


def evaluation_again(*, submission: Submission) -> Evaluation:
    """Evaluate a submission again, e.g. after a platform fault; the old evaluation stays as history. Raises Refused."""
    with transaction.atomic():
        agent_lock(submission.agent_id)
        submission = Submission.objects.select_for_update(of=("self",), no_key=True).get(pk=submission.pk)
        if submission.deleted_at is not None:
            raise Refused("A deleted submission cannot be evaluated.")
        environment = submission.agent.environment
        if environment.is_app or not environment.is_scored:
            raise Refused(f"{environment} is not ranked by score.")
        # The latest build counts: during a rebuild the submission has no image, or one that is about to be removed.
        last = submission.latest_build if submission.form == SubmissionForm.SCRIPT else validation_of(submission)
        if last is None or last.state != JobState.SUCCEEDED:
            raise Refused("Only versions that are built and validated are evaluated; build it again first.")
        if submission.image_removed_at is not None:
            raise Refused("Its image is no longer kept; build it again first.")
        if submission.evaluations.filter(state__in=OPEN).exists():
            raise Refused("An evaluation of it is already waiting or running.")
        return evaluation_create(submission=submission)


def evaluations_renew(*, environment: Environment, reason: str) -> list[Evaluation]:
    """Evaluate each agent's newest version again after a change of rules or seeds; return the new evaluations.

    An entry stays on the board until its agent's new evaluation is over; entries that are not evaluated again leave
    it. Scripts stay as they are. Call it in a transaction that holds the environment's row. reason: shown with the
    evaluations that are cancelled because they would not count.
    """
    for evaluation in environment.evaluations.filter(is_verified=True, state__in=OPEN).select_for_update():
        job_cancel_if_open(job=evaluation, code=CancelCode.SUPERSEDED, reason=reason)
    submissions = submissions_to_rank(environment)
    standing = environment.evaluations.filter(is_verified=True, is_current=True)
    standing.exclude(agent__in=[submission.agent_id for submission in submissions]).update(is_current=False)
    return [evaluation_create(submission=submission) for submission in submissions]


def episode_row(record: EpisodeRecord) -> EpisodeRow:
    """Return what an evaluation's row keeps of an episode."""
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
    """Store a submission's result and decide its place on the board. Raises StaleJob when the claim was lost.

    episodes: one row for every seed of the list, in the list's order.
    """
    practice, recorded = _to_record(evaluation, episodes)
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
        evaluation_ended(evaluation)
        _tell_tournament(evaluation)
        if any(of is not None for of in (evaluation.run_id, evaluation.assignment_id, evaluation.tournament_id)):
            return
        for choice, number in _episodes_to_record(recorded).items():
            row = Recording(evaluation=evaluation, practice=practice, choice=choice, episode_number=number)
            row.save()
            job_enqueue(job=row)


def result_fields(episodes: Sequence[EpisodeRow]) -> dict[str, object]:
    """Return the fields of an evaluation's row that follow from its episodes."""
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
    """Store the score that a script reported, and its place. Raises StaleJob when the claim was lost."""
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
        evaluation_ended(evaluation)


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
    """Fail an evaluation by the submission's own fault, so that it gets no place on the board. Raises StaleJob."""
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
        _tell_tournament(evaluation)


def _tell_tournament(evaluation: Evaluation) -> None:
    """Wake the worker that makes the table of its tournament."""
    if evaluation.tournament_id is not None:
        task_request("tournament", TOURNAMENT_TASK, evaluation.environment_id)


def _count(evaluation: Evaluation, agent: Agent, episodes: list[EpisodeRow]) -> None:
    env_id = agent.environment.env_id
    evaluation_completed(env_id=env_id, seconds=seconds_running(evaluation))
    moves = sum(length for _, _, length, _ in episodes)
    matches_played(kind=evaluation.KIND, env_id=env_id, matches=len(episodes), moves=moves)


def _environment_lock(submission: Submission) -> Environment:
    """Lock the row of a submission's environment, so that its rules and seeds stay until the transaction ends."""
    return Environment.objects.select_for_update(no_key=True).get(pk=submission.agent.environment_id)


def standing_decide(*, agent: Agent) -> None:
    """Make the right evaluation of a locked agent its current one, or leave the agent without one."""
    chosen = evaluation_to_stand_with(agent)
    others = Evaluation.objects.filter(agent=agent, is_current=True)
    # The old one first: a constraint allows only one current evaluation.
    (others if chosen is None else others.exclude(pk=chosen.pk)).update(is_current=False)
    if chosen is not None and not chosen.is_current:
        Evaluation.objects.filter(pk=chosen.pk).update(is_current=True)


def _to_record(evaluation: Evaluation, episodes: list[EpisodeRow]) -> tuple[Validation | None, list[EpisodeRow]]:
    """Return the episodes to record: those of the evaluation, or of practice while the seeds are hidden."""
    if not seeds_hidden(evaluation):
        return None, episodes
    practice = validation_of(evaluation.submission)
    if practice is None:
        return None, []
    try:
        found = practice_results(practice)
    except NotStored:
        return practice, []
    return practice, [(one.number, one.score, one.length, one.thinking_seconds) for one in found]


def _episodes_to_record(episodes: list[EpisodeRow]) -> dict[Recording.Choice, int]:
    """Return the numbers of the best, median and worst episode, the first of equal ones; one alone if all are equal."""
    if not episodes:
        return {}
    ranked = sorted(episodes, key=lambda row: (-row[1], row[0]))
    last = next(row for row in ranked if row[1] == ranked[-1][1])
    if last is ranked[0]:
        return {Recording.Choice.BEST: last[0]}
    return {
        Recording.Choice.BEST: ranked[0][0],
        Recording.Choice.MEDIAN: ranked[(len(ranked) - 1) // 2][0],
        Recording.Choice.WORST: last[0],
    }


def standing_return(*, agent: Agent) -> None:
    """Decide the place of a locked agent that begins or ends its rest; evaluate what was not evaluated meanwhile."""
    standing_decide(agent=agent)
    newest = Submission.objects.playing_for(agent).first()
    if newest is not None and not agent.environment.is_app:
        evaluation_ensure(submission=newest)
