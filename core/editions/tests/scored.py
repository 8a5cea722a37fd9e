"""Tournaments of agents that play alone, evaluated without players."""

from __future__ import annotations

from collections.abc import Sequence

from core.editions.progress import tournament_step
from core.editions.tests.planned import begun
from core.editions.tests.samples import LATER, players
from core.evaluations.tests.evaluated import fail, succeed
from core.jobs.lifecycle import job_claim, job_give_back
from core.models import Environment, Evaluation, JobState, Submission, Tournament


def scored(task: Environment, count: int = 3, **settings: object) -> tuple[Tournament, list[Submission]]:
    """A tournament that has begun, and its participants."""
    rows = players(task, count)
    return begun(rows, "score", **settings), rows


def fresh(cup: Tournament) -> Tournament:
    return Tournament.objects.select_related("environment").get(pk=cup.pk)


def step(cup: Tournament) -> Tournament:
    """Return a tournament after one step."""
    cup = fresh(cup)
    tournament_step(cup, now=LATER)
    return cup


def waiting(cup: Tournament, row: Submission) -> Evaluation:
    """The evaluation of a participant that waits."""
    return Evaluation.every.get(tournament=cup, submission=row, state=JobState.QUEUED)


def claimed(cup: Tournament, row: Submission) -> Evaluation:
    found = job_claim(kind=Evaluation, job_id=waiting(cup, row).pk, worker="worker-1")
    assert found is not None
    return found


def score(cup: Tournament, row: Submission, mean: float) -> Evaluation:
    """Evaluate a participant: half of its episodes score one more than the mean, half one less."""
    evaluation = claimed(cup, row)
    half = evaluation.episode_count // 2
    return succeed(evaluation, [mean - 1, mean + 1] * half)


def score_all(cup: Tournament, rows: Sequence[Submission], means: Sequence[float]) -> Tournament:
    """Evaluate participants, and return the tournament after the step that follows."""
    for row, mean in zip(rows, means, strict=True):
        score(cup, row, mean)
    return step(cup)


def crash(cup: Tournament, row: Submission) -> None:
    """Fail the evaluation of a participant by its own fault."""
    fail(claimed(cup, row))


def break_down(cup: Tournament, row: Submission) -> None:
    """The engine is down until the platform's attempts at the evaluation of a participant are used up."""
    evaluation = waiting(cup, row)
    while (job := job_claim(kind=Evaluation, job_id=evaluation.pk, worker="worker-1")) is not None:
        job_give_back(job=job, code="engine_down", error="The engine does not answer.")
        Evaluation.every.filter(pk=evaluation.pk).update(not_before=None)


def table(cup: Tournament) -> dict[int, tuple[int, float | None]]:
    """Rank and score by submission."""
    return {row.submission_id: (row.rank, row.score) for row in cup.participants.all()}
