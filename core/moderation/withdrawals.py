"""Withdraws participants from running tournaments: those who are barred, and those whose owners ask for it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.control import job_cancel, job_cancel_if_open
from core.jobs.locks import agent_lock
from core.jobs.states import OPEN, StaleJob
from core.models import (
    Agent,
    CancelCode,
    Duel,
    Evaluation,
    JobState,
    LedgerChange,
    Participant,
    Tournament,
    TournamentState,
    User,
)
from core.ratings.ledger import ledger_change
from core.tournaments.rounds import GONE, last_round
from core.tournaments.scoring import evaluations_cancel


def participants_withdraw_barred(*, tournament: Tournament) -> None:
    """Withdraw barred participants from a running edition, even those who were barred while it was being made.

    Those who left after the end of a tournament that continues keep their places, see `rounds.drawn_again_leave`.
    """
    if tournament.is_automatic:
        # All others stay to the end, with the duels that they have.
        barred = Q(submission__agent__is_disabled=True) | Q(submission__agent__owner__is_active=False)
    else:
        barred = GONE & Q(left_after=None)
    rows = tournament.participants.filter(barred, withdrawn_at=None)
    for number in list(rows.order_by("pk").values_list("pk", flat=True)):
        with apart(f"Participant {number}"), transaction.atomic():
            participants_withdraw(rows.filter(pk=number).select_related("tournament", "submission__agent__owner"))


def participant_withdraw(*, participant: Participant, user: User) -> None:
    """Take a person's agent out of an organiser's running tournament for good. Raises Refused with the reason."""
    with transaction.atomic():
        agent = agent_lock(participant.submission.agent_id)
        if agent.owner_id != user.pk:
            raise Refused("Only the owner of an agent may withdraw it.", code="not_yours")
        tournament = Tournament.objects.get(pk=participant.tournament_id)
        if tournament.is_automatic:
            raise Refused("Agents cannot be withdrawn from automatic tournaments.", code="automatic")
        if not participants_withdraw(playing_rows([agent]).filter(pk=participant.pk), by_owner=True):
            raise Refused(f"{agent} no longer takes part: it has left, or the tournament is over.", code="over")


def playing_rows(agents: Collection[Agent] | QuerySet[Agent]) -> QuerySet[Participant]:
    rows = Participant.objects.filter(submission__agent__in=agents, withdrawn_at=None)
    return rows.filter(tournament__state=TournamentState.RUNNING).select_related(
        "tournament", "submission__agent__owner"
    )


def participants_withdraw(rows: QuerySet[Participant], *, by_owner: bool = False) -> int:
    """Withdraw participants and return how many. by_owner: whether the owner asked for it.

    Their duels that have not begun are cancelled. In an organiser's tournament those that have begun go on, unless an
    organiser has barred the agent or its owner.
    Participants come before duels, each by key, so that two withdrawals of opponents never wait for each other.
    """
    # No other result depends on an evaluation. They come before tournaments, see `core.jobs.locks`.
    own = Q()
    for row in rows:
        own |= Q(tournament=row.tournament_id, submission=row.submission_id)
    if own:
        why = "The agent has left the tournament."
        evaluations_cancel(Evaluation.every.filter(own), code=CancelCode.PLAYER_LEFT, reason=why)
    duels: dict[int, tuple[Duel, str, bool]] = {}
    left: dict[int, Tournament] = {}
    count = 0
    for row in rows.order_by("pk"):
        if not row.tournament.is_automatic and not _is_running_locked(row.tournament):
            # It has just ended, and its participants keep their places.
            continue
        count += Participant.objects.filter(pk=row.pk, withdrawn_at=None).update(
            withdrawn_at=timezone.now(), left_after=_left_after(row.tournament)
        )
        plays = Q(player_1=row.submission_id) | Q(player_2=row.submission_id)
        why = _why_left(row.tournament, by_owner=by_owner)
        open_duels = Duel.objects.filter(plays, tournament=row.tournament_id, state__in=OPEN)
        goes_on = not row.tournament.is_automatic and not _is_barred(row.submission.agent)
        if goes_on:
            open_duels = open_duels.filter(state=JobState.QUEUED, started_at=None)
        duels |= {duel.pk: (duel, why, goes_on) for duel in open_duels}
        left[row.tournament_id] = row.tournament
    for _, (duel, why, goes_on) in sorted(duels.items()):
        if not goes_on:
            job_cancel_if_open(job=duel, code=CancelCode.PLAYER_LEFT, reason=why)
            continue
        # A worker may have begun it a moment ago.
        with suppress(StaleJob):
            job_cancel(job=duel, code=CancelCode.PLAYER_LEFT, reason=why)
    # The others' standings change, and this may have been the last open duel. The ledger comes after the duels,
    # because a worker that finishes a duel locks the duel while it waits for the ledger.
    for tournament in sorted(left.values(), key=lambda row: (row.environment_id, row.pk)):
        ledger_change(
            environment_id=tournament.environment_id, kind=LedgerChange.Kind.WITHDRAWAL, tournament=tournament
        )
    return count


def _is_barred(agent: Agent) -> bool:
    return agent.is_disabled or not agent.owner.is_active


def _why_left(tournament: Tournament, *, by_owner: bool) -> str:
    """Return why a duel is not played, for people."""
    where = "ladder" if tournament.is_ladder else "edition" if tournament.is_automatic else "tournament"
    return f"A player has withdrawn from the {where}." if by_owner else f"A player was taken out of the {where}."


def _is_running_locked(tournament: Tournament) -> bool:
    """Lock a tournament's row, as each of its steps does; return whether it still runs."""
    running = Tournament.objects.filter(pk=tournament.pk, state=TournamentState.RUNNING)
    return running.select_for_update(no_key=True).values_list("pk").first() is not None


def _left_after(tournament: Tournament) -> int | None:
    """Return the round in which a participant leaves an organiser's tournament, before its duels are cancelled.

    None when no duel is open: then the tournament manager determines it, because it decides whether the tournament is
    over.
    """
    if tournament.is_automatic or not tournament.duels.filter(state__in=OPEN).exists():
        return None
    return last_round(tournament)
