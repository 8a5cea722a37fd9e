"""Actions on duels: void, play again, requeue, and cancel."""

from __future__ import annotations

from core.jobs.control import job_cancel, job_requeue
from core.jobs.lifecycle import job_wake
from core.jobs.states import OPEN
from core.models import CancelCode, Duel, Job, JobState
from core.tournaments.strikes import duel_play_again, duel_void
from core.tournaments.voiding import meeting_again
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _void(duel: Duel, answer: OrganiserAnswer) -> str:
    duel_void(duel=duel, reason=answer.reason, user=answer.user)
    return "is void."


def _play_again(duel: Duel, answer: OrganiserAnswer) -> str:
    if _follows_plan(duel) and duel.state == JobState.FAILED:
        reason = f"The arena could not play it; run again by {answer.user}."
        meeting_again(duel=duel, reason=reason, user=answer.user)
        return "is void; its meeting is played again."
    return f"is played again as duel {duel_play_again(duel=duel).pk}."


def _follows_plan(duel: Duel) -> bool:
    return duel.tournament is not None and not duel.tournament.is_automatic


def _may_be_played_again(duel: Duel) -> bool:
    if duel.tournament is None or not duel.is_void or duel.tournament.is_ladder:
        return False
    return duel.tournament.is_automatic or duel.state == JobState.FAILED


def _requeue(job: Job, answer: OrganiserAnswer) -> str:
    if job.state == JobState.QUEUED:
        job_wake(job=job)
        return "was already waiting; its workers were woken."
    job_requeue(job=job, reason=f"Requeued by {answer.user}.")
    return "waits for a worker again."


def _cancel(job: Job, answer: OrganiserAnswer) -> str:
    job_cancel(job=job, code=CancelCode.BY_ORGANISER, reason=answer.reason)
    return "is cancelled."


def _is_open(job: Job) -> bool:
    return job.state in OPEN


VOID = OrganiserAction(
    name="void",
    label="Void, with a reason",
    button="Void",
    do=_void,
    question=OrganiserQuestion(
        title="Void",
        consequence="From now on the results count for neither side, and the table is computed again. Records stay.",
        button="Void",
        reason="Reason, shown on the duel's page",
    ),
    fits=lambda duel: duel.tournament is not None and duel.state == JobState.SUCCEEDED and not duel.is_void,
)
PLAY_AGAIN = OrganiserAction(
    name="run_again",
    label="Run again: play a new duel of the same pair",
    button="Play again",
    do=_play_again,
    fits=_may_be_played_again,
)
REQUEUE = OrganiserAction(
    name="requeue",
    label="Requeue: take from the worker and start again",
    button="Requeue",
    do=_requeue,
    fits=_is_open,
)
CANCEL = OrganiserAction(
    name="cancel",
    label="Cancel, with a reason",
    button="Cancel",
    do=_cancel,
    question=OrganiserQuestion(
        title="Cancel",
        consequence="A cancelled job stays cancelled: this cannot be undone. Running jobs are stopped.",
        button="Cancel them",
        reason="Reason, shown on the page",
    ),
    fits=_is_open,
)
DUEL_ACTIONS = (VOID, PLAY_AGAIN, REQUEUE, CANCEL)
