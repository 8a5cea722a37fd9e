"""Takes a participant out of the table of an organisers' tournament, also after its end, and lets it back in."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from core.errors import Refused
from core.links import tournament_address
from core.models import Agent, LedgerChange, NoticeKind, Participant, Tournament, TournamentState
from core.moderation.withdrawals import participants_withdraw, playing_rows
from core.notices.services import notify
from core.ratings.ledger import ledger_change
from core.tournaments.rounds import last_round, tournament_lock
from core.tournaments.scoring import evaluations_lock


def participant_disqualify(*, participant: Participant, reason: str) -> None:
    """Take a participant out of the table. Its meetings are decided by the format's rules, and nothing is replayed.

    In a running tournament it withdraws. Its duels stay in the ledger, so ratings do not change. Raises Refused.
    """
    with transaction.atomic():
        evaluations_lock(participant.tournament)
        tournament = _locked(participant)
        if participant.is_baseline:
            raise Refused("It is a baseline, which takes no rank.")
        rows = tournament.participants.filter(pk=participant.pk, disqualified_because="")
        if not rows.exists():
            raise Refused("It is disqualified already.")
        if tournament.state == TournamentState.RUNNING:
            participants_withdraw(playing_rows([participant.submission.agent]).filter(pk=participant.pk))
        elif tournament.state == TournamentState.FINISHED:
            gone = {"withdrawn_at": timezone.now(), "left_after": last_round(tournament)}
            rows.filter(withdrawn_at=None).update(**gone)
        else:
            raise Refused(f"The tournament is {tournament.get_state_display()}.")
        rows.update(disqualified_because=reason[:200])
        agent = participant.submission.agent
        text = f"The organisers have taken {agent} out of the table of {tournament}: {reason}"
        _changed(tournament, agent, title=f"{agent} is disqualified in {tournament}", text=text)


def participant_readmit(*, participant: Participant) -> None:
    """Put a participant back that was disqualified after the end. Raises Refused."""
    with transaction.atomic():
        tournament = _locked(participant)
        row = (
            tournament.participants.exclude(disqualified_because="")
            .filter(pk=participant.pk)
            .select_related("tournament")
            .first()
        )
        if row is None:
            raise Refused("It is not disqualified.")
        if not participant_can_return(row):
            raise Refused("It left while the tournament was played, so its later duels are missing.")
        row.withdrawn_at, row.left_after, row.disqualified_because = None, None, ""
        row.save(update_fields=["withdrawn_at", "left_after", "disqualified_because"])
        agent = participant.submission.agent
        text = f"The organisers have put {agent} back into the table of {tournament}. It is no longer disqualified."
        _changed(tournament, agent, title=f"{agent} is back in {tournament}", text=text)


def participant_can_return(participant: Participant) -> bool:
    """Return whether a participant was disqualified after the end, so that all of its duels were played."""
    ended_at, left_at = participant.tournament.ended_at, participant.withdrawn_at
    was_after = ended_at is not None and left_at is not None and left_at >= ended_at
    return was_after and bool(participant.disqualified_because)


def _locked(participant: Participant) -> Tournament:
    tournament = tournament_lock(participant.tournament)
    if tournament.is_automatic:
        raise Refused("The arena made this edition. Disable the agent instead.")
    return tournament


def _changed(tournament: Tournament, agent: Agent, *, title: str, text: str) -> None:
    """Let the table follow, and tell the agent's owner."""
    ledger_change(environment_id=tournament.environment_id, kind=LedgerChange.Kind.WITHDRAWAL, tournament=tournament)
    address = tournament_address(tournament)
    notify(user=agent.owner, kind=NoticeKind.TOURNAMENT_ENDED, title=title, text=text, address=address)
