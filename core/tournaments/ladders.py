"""Joining and leaving a ladder, and agents that rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from core.evaluations.services import standing_return
from core.jobs.control import job_cancel
from core.jobs.locks import agent_lock
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.jobs.states import StaleJob
from core.models import LADDER, Agent, CancelCode, JobState, Participant, Submission, Tournament, TournamentState
from core.ratings.participants import participants_write
from core.ratings.services import rank_give_up

LEFT = "One of the two agents has left the ladder."


def ladder_change(*, tournament: Tournament, settings: Mapping[str, object], ends_at: datetime | None) -> None:
    """Change the settings of a running ladder from its next round on. settings: plain values, checked by the caller."""
    rows = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING)
    rows.update(settings=dict(settings), ends_at=ends_at)
    tournament.refresh_from_db()
    task_request("tournament", TOURNAMENT_TASK, tournament.environment_id)


def ladder_field_save(
    *, tournament: Tournament, playing: Sequence[Submission], paused: Collection[int], last_round: int
) -> bool:
    """Make `playing` the participants of a ladder; return whether anything changed.

    paused: submissions that are left as they are, in or out. A submission that leaves keeps its row, its results count,
    and it may join again. The caller holds the tournament's row.
    """
    rows = {row.submission_id: row for row in tournament.participants.all()}
    wanted = {submission.pk for submission in playing}
    leaving = [row for key, row in rows.items() if row.withdrawn_at is None and key not in wanted | set(paused)]
    back = [row for key, row in rows.items() if row.withdrawn_at is not None and key in wanted]
    new = [
        # Ranked below all others until the table is made again.
        Participant(tournament=tournament, submission=submission, joined_after=last_round, rank=len(rows) + 1)
        for submission in playing
        if submission.pk not in rows
    ]
    for row in back:
        row.withdrawn_at, row.joined_after = None, last_round
    for row in leaving:
        row.withdrawn_at = timezone.now()
    # In one call, so that all rows are locked in one order.
    participants_write(participants=[*back, *leaving], fields=["withdrawn_at", "joined_after"])
    Participant.objects.bulk_create(new)
    _waiting_cancel(tournament)
    return bool(leaving or back or new)


def participants_leave(*, tournament: Tournament, rows: Iterable[Participant]) -> None:
    """Take participants out of a ladder: duels that no worker has begun are cancelled, all others count when they end.

    If others were cancelled, an owner could take back a duel that is being lost, also between two of its attempts or
    while it is on hold because its environment failed.
    """
    leaving = list(rows)
    for row in leaving:
        row.withdrawn_at = timezone.now()
    participants_write(participants=leaving, fields=["withdrawn_at"])
    _waiting_cancel(tournament)


def agent_rest(*, agent: Agent, is_resting: bool) -> None:
    """Let an agent rest, so that it takes part in nothing new and is in no list, or wake it up.

    It leaves a board of scores and a running ladder at once, see `participants_leave`, and plays a running edition or
    tournament to its end.
    """
    with transaction.atomic():
        locked = agent_lock(agent.pk)
        if locked.is_resting != is_resting:
            locked.is_resting = is_resting
            locked.save(update_fields=["is_resting"])
            if is_resting:
                rank_give_up(agent=locked)
                for ladder in locked.environment.tournaments.filter(state=TournamentState.RUNNING, format=LADDER):
                    own = ladder.participants.filter(submission__agent=locked, withdrawn_at=None)
                    participants_leave(tournament=ladder, rows=own)
            if locked.environment.is_scored:
                standing_return(agent=locked)
            task_request("tournament", TOURNAMENT_TASK, locked.environment_id)
    agent.refresh_from_db()


def _waiting_cancel(tournament: Tournament) -> None:
    here = set(tournament.participants.filter(withdrawn_at=None).values_list("submission", flat=True))
    # Checks all participants, because one may have been barred while a round was chosen.
    for duel in tournament.duels.filter(state=JobState.QUEUED, started_at=None).order_by("pk"):
        if not here.issuperset((duel.player_1_id, duel.player_2_id)):
            # A worker may have started the duel a moment ago.
            with suppress(StaleJob):
                job_cancel(job=duel, code=CancelCode.PLAYER_LEFT, reason=LEFT)
