"""Actions on duels: void and play again, and those of every job."""

from __future__ import annotations

from core.editions.previews import duel_void_preview
from core.models import Duel, JobState
from core.tournaments.strikes import duel_play_again, duel_void
from core.tournaments.voiding import meeting_again
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion
from web.organise.actions.jobs import JOB_ACTIONS
from web.organise.actions.participants import moved_lines


def _void(duel: Duel, answer: OrganiserAnswer) -> str:
    duel_void(duel=duel, reason=answer.reason, user=answer.user)
    return "is void."


def _void_then(duel: Duel) -> list[str]:
    """Return what else falls with a duel of an organisers' tournament, and the ranks until all are played again."""
    if not _follows_plan(duel):
        return []
    voided = duel_void_preview(duel)
    others = f"{voided.others} later duel{'s' * (voided.others != 1)} that depended on it: void and played again, too"
    return [*([others] if voided.others else []), *moved_lines(voided.moved)]


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
        preview=_void_then,
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
DUEL_ACTIONS = (VOID, PLAY_AGAIN, *JOB_ACTIONS)
