"""The text of the notice about a finished evaluation. Call it in the transaction in which the evaluation ends."""

from __future__ import annotations

from arena_kit.ranking.verdicts import number
from core.evaluations.episodes import spec_or_none
from core.links import page
from core.models import Assignment, Evaluation, NoticeKind
from core.notices.services import notify


def evaluation_ended(evaluation: Evaluation) -> None:
    """Tell the owner the score of a version. A later one of the same agent replaces it while it is unread.

    What a program asked for causes no notice, and a tournament tells ranks when it ends.
    """
    if evaluation.run_id is not None or evaluation.tournament_id is not None:
        return
    if evaluation.assignment is not None:
        _tested(evaluation, evaluation.assignment)
        return
    evaluation.refresh_from_db(fields=["score", "score_low", "score_high", "is_current"])
    submission = evaluation.submission
    agent = submission.agent
    assert evaluation.score is not None
    interval = ""
    if evaluation.score_low is not None and evaluation.score_high is not None:
        interval = f" (95% interval {number(evaluation.score_low)} to {number(evaluation.score_high)})"
    said = "scored" if evaluation.is_verified else "reports a score of"
    board = (
        f"{agent.name} stands on the board with it."
        if evaluation.is_current
        else f"It does not change with which version {agent.name} stands on the board."
    )
    notify(
        user=agent.owner,
        kind=NoticeKind.EVALUATED,
        title=f"{submission} {said} {number(evaluation.score)}",
        text=f"{submission} {said} {number(evaluation.score)}{interval} in {agent.environment}. {_solved(evaluation)}"
        f"{board}",
        address=page("evaluation", evaluation.pk),
        about=f"score of agent {agent.pk}",
    )


def _tested(evaluation: Evaluation, assignment: Assignment) -> None:
    """Say that a version has been tested for an assignment, unless its owner has left the course."""
    submission, course = evaluation.submission, assignment.course
    if course.members.filter(user=submission.agent.owner_id).exists():
        evaluation.refresh_from_db(fields=["score"])
        assert evaluation.score is not None
        notify(
            user=submission.agent.owner,
            kind=NoticeKind.EVALUATED,
            title=f"{assignment}: {submission} scored {number(evaluation.score)}",
            text=f"That is the mean of {evaluation.episode_count} episodes on the seeds of {assignment} in {course}.",
            address=page("assignment", course.slug, assignment.pk),
            about=f"assignment {assignment.pk} of {submission.agent.owner_id}",
        )


def _solved(evaluation: Evaluation) -> str:
    """Return a sentence that the task is solved, if the rules say when and the arena has seen it."""
    spec = spec_or_none(evaluation.environment_version)
    needed = spec.solved_score if spec else None
    if needed is None or not evaluation.is_verified or evaluation.score is None or evaluation.score < needed:
        return ""
    return f"The task counts as solved from {number(needed)} on, so it is solved. "
