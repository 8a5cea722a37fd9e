"""Actions on tournaments, seasons and schedules: begin, call off, release, picture, cancel, void a round, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from core.editions.previews import rounds_void_preview
from core.editions.revealing import can_reveal, round_next, round_reveal
from core.errors import Refused
from core.files.pictures import picture_cleaned
from core.models import Audience, Season, Tournament, TournamentSchedule, TournamentState
from core.tournaments.pictures import picture_remove, picture_set
from core.tournaments.planning import results_release, tournament_begin_soon, tournament_call_off
from core.tournaments.registration_selectors import PATIENCE, awaited_count
from core.tournaments.services import ladder_stop, tournament_cancel, tournament_go_on, tournament_pause
from core.tournaments.voiding import VOIDABLE, round_void
from web.organise.action import OrganiserAction, OrganiserAnswer, OrganiserQuestion


def _is_planned(tournament: Tournament) -> bool:
    return tournament.state == TournamentState.PLANNED


def _is_running(tournament: Tournament) -> bool:
    return tournament.state == TournamentState.RUNNING


def _planned(tournament: Tournament) -> None:
    if not _is_planned(tournament):
        raise Refused("It is no longer planned.")


def _begin(tournament: Tournament, answer: OrganiserAnswer) -> str:
    _planned(tournament)
    now = timezone.now()
    tournament_begin_soon(tournament=tournament, now=now)
    tournament.refresh_from_db()
    if count := awaited_count(tournament, now=now):
        versions = f"{count} version{'s' * (count > 1)} uploaded in time"
        return f"begins when {versions} can play, but waits {PATIENCE.seconds // 60} minutes at most."
    return "begins within seconds."


def _call_off(tournament: Tournament, answer: OrganiserAnswer) -> str:
    _planned(tournament)
    if not tournament_call_off(tournament=tournament, reason=answer.reason):
        raise Refused("It has begun meanwhile. Cancel it instead.")
    return "is called off."


def _release(tournament: Tournament, answer: OrganiserAnswer) -> str:
    if _is_planned(tournament):
        raise Refused("It has no results yet; its plan says who sees them.")
    results_release(tournament=tournament)
    return "now shows its results to all visitors."


def _reveal_to(to: Audience) -> Callable[[Tournament, OrganiserAnswer], str]:
    def reveal(tournament: Tournament, answer: OrganiserAnswer) -> str:
        number = round_reveal(tournament=tournament, to=to, number=answer.number)
        seen_by = "everyone" if to == Audience.PUBLIC else "its participants"
        return f"now shows round {number} to {seen_by}."

    return reveal


def _revealed(to: Audience) -> OrganiserAction[Tournament]:
    """Return the action that reveals the next round to some people."""
    is_all = to == Audience.PUBLIC
    whom = "everyone" if is_all else "participants"
    return OrganiserAction(
        name="reveal" if is_all else "reveal_to_participants",
        label=f"Reveal the next round to {whom}",
        button="Reveal the next round" if is_all else "Reveal to participants",
        do=_reveal_to(to),
        question=OrganiserQuestion(
            title=f"Reveal the next round to {whom}",
            consequence="They can then see its duels and replays, and the table and the pairings that follow from it. "
            "Later rounds stay withheld. The last round of a tournament that has ended releases all of its results.",
            button="Reveal the round",
            number="Round",
            suggested=lambda tournament: round_next(tournament, to),
        ),
        fits=lambda tournament: can_reveal(tournament, to),
    )


def _cancel(tournament: Tournament, answer: OrganiserAnswer) -> str:
    if not _is_running(tournament):
        raise Refused("It is not running.")
    tournament_cancel(tournament=tournament, reason=answer.reason)
    return "is cancelled; what has been played stays."


def _pause(tournament: Tournament, answer: OrganiserAnswer) -> str:
    tournament_pause(tournament=tournament)
    return "is paused: what has begun is played to its end, and nothing else begins."


def _go_on(tournament: Tournament, answer: OrganiserAnswer) -> str:
    tournament_go_on(tournament=tournament)
    return "goes on."


def _end_ladder(tournament: Tournament, answer: OrganiserAnswer) -> str:
    if not tournament.is_ladder or not _is_running(tournament):
        raise Refused("It is not a running ladder.")
    ladder_stop(environment=tournament.environment)
    return "ends within seconds. After that its environment plays no duels until you choose what it plays."


def _void_round(tournament: Tournament, answer: OrganiserAnswer) -> str:
    count = round_void(tournament=tournament, number=answer.number, reason=answer.reason, user=answer.user)
    return f"round {answer.number} is void ({count} duel{'s' * (count != 1)}) and is played again."


def _rounds(tournament: Tournament) -> list[str]:
    """Return the rounds that can be void, as lines."""
    return [
        f"Round {number}: {count} duel{'s' * (count != 1)}{f', and {others} of later rounds' if others else ''}"
        for number, (count, others) in rounds_void_preview(tournament).items()
    ]


class PictureField(forms.FileField):
    """A picture. Its value is what is kept of it; no bytes where none was sent."""

    widget = forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp"})

    def clean(self, data: Any, initial: Any = None) -> bytes:
        """Return the picture drawn anew. Raises ValidationError."""
        file = super().clean(data, initial)
        try:
            return picture_cleaned(file, file.size) if file else b""
        except Refused as refusal:
            raise ValidationError(str(refusal)) from None


def _picture_fields(rows: Sequence[Tournament]) -> dict[str, forms.Field]:
    has_pictures = bool(rows) and all(row.picture for row in rows)
    alt = rows[0].picture_alt if has_pictures else ""
    return {
        "picture": PictureField(required=not has_pictures, help_text="PNG, JPEG or WebP, 10 MiB at most."),
        "alt": forms.CharField(
            label="The picture in words",
            max_length=200,
            initial=alt,
            help_text="For people who do not see it, and for search engines.",
        ),
    }


def _picture(tournament: Tournament, answer: OrganiserAnswer) -> str:
    picture_set(tournament=tournament, picture=answer.more["picture"], alt=answer.more["alt"])
    return "has a picture."


def _remove_picture(tournament: Tournament, answer: OrganiserAnswer) -> str:
    picture_remove(tournament=tournament)
    return "has no picture any more."


def _delete_season(season: Season, answer: OrganiserAnswer) -> str:
    season.delete()
    return "is deleted; its tournaments stay."


def _delete_schedule(schedule: TournamentSchedule, answer: OrganiserAnswer) -> str:
    schedule.delete()
    return "is deleted; the tournaments that it has planned stay."


BEGIN = OrganiserAction(
    name="begin_now",
    label="Begin now",
    button="Begin now",
    do=_begin,
    question=OrganiserQuestion(
        title="Begin tournaments now",
        consequence="Registration ends. Every registered agent takes part with its newest version that may play; "
        "without registration, every agent does.",
        button="Begin now",
    ),
    fits=_is_planned,
)
CALL_OFF = OrganiserAction(
    name="call_off",
    label="Call off, with a reason",
    button="Call off",
    do=_call_off,
    question=OrganiserQuestion(
        title="Call off planned tournaments",
        consequence="The tournaments will not take place. Their pages stay and show the reason.",
        button="Call it off",
        reason="Reason, shown on the page of the tournament",
    ),
    fits=_is_planned,
)
RELEASE = OrganiserAction(
    name="release",
    label="Release results",
    button="Release results",
    do=_release,
    question=OrganiserQuestion(
        title="Release results",
        consequence="All visitors can then see tables, duels and replays, rated tournaments count for the ratings, and "
        "the hidden seeds of those that are over are published.",
        button="Release the results",
    ),
    fits=lambda tournament: tournament.results != Audience.PUBLIC and tournament.state != TournamentState.PLANNED,
)
REVEAL, REVEAL_TO_PARTICIPANTS = _revealed(Audience.PUBLIC), _revealed(Audience.PARTICIPANTS)
CANCEL = OrganiserAction(
    name="cancel",
    label="Cancel, with a reason",
    button="Cancel",
    do=_cancel,
    question=OrganiserQuestion(
        title="Cancel tournaments",
        consequence="What has been played stays in the table. All else of the tournament is cancelled for good.",
        button="Cancel the tournament",
        reason="Reason, shown on the page of the tournament",
    ),
    fits=_is_running,
)
PAUSE = OrganiserAction(
    name="pause",
    label="Pause",
    button="Pause",
    do=_pause,
    fits=lambda tournament: _is_running(tournament) and not tournament.is_automatic and not tournament.paused_at,
)
GO_ON = OrganiserAction(
    name="go_on",
    label="Go on",
    button="Go on",
    do=_go_on,
    fits=lambda tournament: tournament.paused_at is not None,
)
END_LADDER = OrganiserAction(
    name="end_ladder",
    label="End the ladder, with its final table",
    button="End the ladder",
    do=_end_ladder,
    fits=lambda tournament: tournament.is_ladder and _is_running(tournament),
)
VOID_ROUND = OrganiserAction(
    name="void_round",
    label="Void a round, with a reason",
    button="Void a round",
    do=_void_round,
    question=OrganiserQuestion(
        title="Void a round",
        consequence="From now on the results of the round count for neither side, and the round is played again with "
        "the same seeds. Rounds that depend on it, such as later rounds of a Swiss tournament, become void too and are "
        "drawn again. A tournament that has ended continues. Records stay.",
        button="Void the round",
        number="Round",
        reason="Reason, shown on the pages of the duels",
        preview=_rounds,
    ),
    fits=lambda tournament: tournament.state in VOIDABLE and not (tournament.is_automatic or tournament.plays_alone),
    of="core.duel",
)
PICTURE = OrganiserAction(
    name="picture",
    label="Show a picture on the pages of the tournament",
    button="Choose a picture",
    do=_picture,
    question=OrganiserQuestion(
        title="Show a picture",
        consequence="It stands on the page of the tournament and on that for the big screen, and where other sites "
        "show a link to it. Only what can be seen is kept: not, for example, the place where it was taken.",
        button="Save the picture",
        fields=_picture_fields,
    ),
    fits=lambda tournament: not tournament.is_automatic,
)
REMOVE_PICTURE = OrganiserAction(
    name="remove_picture",
    label="Remove the picture",
    button="Remove the picture",
    do=_remove_picture,
    fits=lambda tournament: bool(tournament.picture),
)
TOURNAMENT_ACTIONS = (
    BEGIN,
    REVEAL,
    REVEAL_TO_PARTICIPANTS,
    RELEASE,
    CALL_OFF,
    PAUSE,
    GO_ON,
    END_LADDER,
    VOID_ROUND,
    PICTURE,
    REMOVE_PICTURE,
    CANCEL,
)
DELETE_SEASON = OrganiserAction(
    name="delete",
    label="Delete",
    button="Delete",
    do=_delete_season,
    question=OrganiserQuestion(
        title="Delete seasons", consequence="Their tournaments stay, without a season.", button="Delete"
    ),
    right="delete",
)
DELETE_SCHEDULE = OrganiserAction(
    name="delete",
    label="Delete",
    button="Delete",
    do=_delete_schedule,
    question=OrganiserQuestion(
        title="Delete schedules",
        consequence="They plan no more tournaments. What they have planned stays.",
        button="Delete",
    ),
    right="delete",
)
