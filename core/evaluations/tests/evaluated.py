"""Evaluations of a submission that run, succeed or fail."""

from __future__ import annotations

from core.evaluations.services import (
    EpisodeRow,
    evaluation_create,
    evaluation_fail,
    evaluation_succeed,
)
from core.evaluations.standing import standing
from core.jobs.artifacts import EvaluationArtifacts
from core.jobs.lifecycle import job_claim
from core.models import (
    Agent,
    Evaluation,
    Submission,
)

SCORES = [30.0, 10.0, 40.0, 20.0]


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
