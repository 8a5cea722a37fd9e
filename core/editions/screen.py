"""The scene that the page for a hall shows of a tournament: what everyone may see, also to organisers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from arena_kit.ranking.formats import DuelState, Meeting
from arena_kit.ranking.formats.bracket import THIRD_PLACE
from core.duels.featured import Film
from core.editions.revealing import standing_get
from core.models import Audience, Duel, JobState, Tournament, TournamentState
from core.tournaments.brackets import Drawn, TableRow
from core.watching.selectors import DELAY

MOST_MEETINGS, MOST_FILMS, PODIUM = 8, 4, 3
FEW = 4
"""With more meetings than these a hall sees the next round only when it begins."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A scene.

    name: differs between scenes that a page cannot turn into each other in place: each has its own films. live: the
    duel that is followed. meetings: of round `round`, at most as many as a hall can read; following: those of the next
    round, as far as both players are known. podium: once everyone may see the final table.
    """

    name: str
    drawn: Drawn | None = None
    round: int = 0
    live: Duel | None = None
    films: Sequence[Film] = ()
    meetings: Sequence[Meeting] = ()
    following: Sequence[Meeting] = ()
    podium: Sequence[TableRow] = field(default=())


def screen_get(tournament: Tournament, *, now: datetime) -> Screen:
    """Return the present scene of a tournament of organisers."""
    if tournament.state == TournamentState.CANCELLED:
        return Screen("cancelled")
    rounds = None if tournament.results == Audience.PUBLIC else tournament.revealed_to_all
    drawn = standing_get(tournament, rounds)
    if drawn is None:
        return Screen("planned" if tournament.state == TournamentState.PLANNED else "withheld")
    if rounds is not None:
        meetings = _of_round(drawn, rounds)
        following = _of_round(drawn, rounds + 1) if len(meetings) <= FEW else []
        films = _films(meetings, 1)
        return Screen(
            f"round {rounds}", drawn, rounds, None, films, meetings, [one for one in following if _is_known(one)]
        )
    if tournament.state == TournamentState.FINISHED:
        lines = [row for row in drawn.lines(drawn.outline.table) if row.row.rank <= PODIUM]
        podium = [row for row in lines if row.participant.is_ranked][:MOST_MEETINGS]
        final = _final(drawn)
        films = _films(final, MOST_FILMS)
        return Screen("over", drawn, final[0].round if final else 0, None, films, final, podium=podium)
    number = drawn.round or max((meeting.round for meeting in drawn.outline.meetings), default=0)
    meetings = _of_round(drawn, number)
    running = tournament.duels.filter(state=JobState.RUNNING, started_at__lt=now - DELAY)
    live = (
        running.select_related("player_1__agent__environment", "player_2__agent").order_by("started_at", "pk").first()
    )
    if live is not None:
        return Screen("live", drawn, number, live, (), meetings)
    played = [meeting for meeting in drawn.outline.meetings if meeting.has_score and meeting.round <= number]
    last = max((meeting.round for meeting in played), default=0)
    films = _films([meeting for meeting in played if meeting.round == last], 1)
    keys = "".join(f", duel {film.duel.pk}" for film in films)
    return Screen(f"films {number}{keys}", drawn, number, None, films, meetings)


def _of_round(drawn: Drawn, number: int) -> list[Meeting]:
    """Return the meetings of a round, those that are played first; byes need no place."""
    found = [row for row in drawn.outline.meetings if row.round == number and not row.is_bye and not row.is_off]
    found.sort(key=lambda row: (row.decision is not None, drawn.open_duel(row) is None, row.number))
    return found[:MOST_MEETINGS]


def _final(drawn: Drawn) -> list[Meeting]:
    """Return the last meeting that was played for the first place."""
    baselines = {who for who, row in drawn.participants.items() if row.is_baseline}
    shown = [row for row in drawn.outline.meetings if baselines.isdisjoint(row.players)]
    played = [row for row in shown if row.has_score and row.key != THIRD_PLACE]
    return [max(played, key=lambda row: (row.round, -row.number))] if played else []


def _films(meetings: Sequence[Meeting], most: int) -> list[Film]:
    """Return matches to play, in all at most MOST_FILMS. most: of the last duel of each meeting."""
    keys = [
        max((duel.key for duel in meeting.duels if duel.state is DuelState.PLAYED), default=0) for meeting in meetings
    ]
    rows = Duel.objects.exclude(records="").select_related("player_1__agent__environment", "player_2__agent")
    duels = rows.in_bulk(keys)
    return [
        Film(duels[key], (None, None), number)
        for key in keys
        if key in duels
        for number in range(1, min(most, duels[key].matches_done) + 1)
    ][:MOST_FILMS]


def _is_known(meeting: Meeting) -> bool:
    return None not in meeting.players
