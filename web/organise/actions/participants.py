"""The acts of organisers on participants of tournaments."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.humanize.templatetags.humanize import ordinal

from core.editions.disqualifying import participant_can_return, participant_disqualify, participant_readmit
from core.editions.previews import Moved, disqualification_preview
from core.models import Participant
from core.tournaments.voiding import VOIDABLE, evaluation_void
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _disqualify(participant: Participant, answer: OrganiserAnswer) -> str:
    participant_disqualify(participant=participant, reason=answer.reason)
    return "is disqualified; the table follows within seconds."


def _readmit(participant: Participant, answer: OrganiserAnswer) -> str:
    participant_readmit(participant=participant)
    return "is back in the table within seconds."


def _table_then(participant: Participant) -> list[str]:
    """Return the ranks that change, as lines."""
    return moved_lines(disqualification_preview(participant))


def moved_lines(moved: Sequence[Moved]) -> list[str]:
    """Return participants whose ranks change, as lines."""
    return [
        f"{one.participant.submission.agent}: {ordinal(one.before)}, then {ordinal(one.after) if one.after else 'out'}"
        for one in moved
    ]


def _may_be_disqualified(participant: Participant) -> bool:
    tournament = participant.tournament
    can = not participant.disqualified_because and not participant.is_baseline
    return can and not tournament.is_automatic and tournament.state in VOIDABLE


def _evaluate_again(participant: Participant, answer: OrganiserAnswer) -> str:
    evaluation_void(participant=participant, reason=answer.reason)
    return "is evaluated again."


def _may_be_evaluated_again(participant: Participant) -> bool:
    tournament = participant.tournament
    return tournament.plays_alone and tournament.state in VOIDABLE and participant.withdrawn_at is None


PARTICIPANT_ACTIONS = (
    OrganiserAction(
        name="disqualify",
        label="Disqualify, with a reason",
        button="Disqualify",
        do=_disqualify,
        question=OrganiserQuestion(
            title="Disqualify participants",
            consequence="The agent has no rank then and no points for its season. Where agents meet, the rules of "
            "the format decide its meetings, as for an agent that withdraws; nothing is replayed, and ratings stay. "
            "Only after the end of the tournament can this be taken back.",
            button="Disqualify it",
            reason="Reason, shown to everyone on the page of the tournament",
            preview=_table_then,
        ),
        fits=_may_be_disqualified,
        is_told=False,
    ),
    OrganiserAction(
        name="readmit",
        label="Put back into the table",
        button="Readmit",
        do=_readmit,
        fits=participant_can_return,
        is_told=False,
    ),
    OrganiserAction(
        name="evaluate_again",
        label="Evaluate again, with a reason",
        button="Evaluate again",
        do=_evaluate_again,
        question=OrganiserQuestion(
            title="Evaluate participants again",
            consequence="The score counts no more, and the agent plays the same seeds once more. A tournament "
            "that has ended goes on until it has a score.",
            button="Evaluate it again",
            reason="Reason, shown to the owner and on the page of the participant",
        ),
        fits=_may_be_evaluated_again,
        is_told=False,
    ),
)
