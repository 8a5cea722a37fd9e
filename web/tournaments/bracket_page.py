"""The page of a tournament of organisers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from arena_kit.ranking.formats import FORMATS, Stage, StageKind, play_off
from core.duels.stopping import tournament_test
from core.editions.revealing import standing_get
from core.models import Tournament, TournamentState
from core.people.rights import acts_on, may
from core.tournaments.brackets import Drawn, TableRow, standing_stamp
from core.tournaments.calendar import (
    next_step,
)
from core.tournaments.results import rounds_visible
from core.tournaments.selectors import tournament_progress
from core.tournaments.voiding import VOIDABLE
from web.site.fragments import render_page
from web.site.requests import page_number
from web.tournaments.bracket_parts import (
    REACHED,
    bracket_columns,
    cell_words,
    cross_table,
    last_round,
    round_names,
    swiss_rows,
    without_byes,
)
from web.tournaments.format_parts import round_count, seeding_words, settings_words, stopping_words
from web.tournaments.pictures import picture_tags
from web.tournaments.registration_views import shown_registration
from web.tournaments.round_parts import evaluated_words, is_all_at_once, running_words, shown_round

FRAGMENTS = {"tournament": "web/tournaments/live.html"}
ROWS_A_PAGE = 100
SMALL_GROUP = 4
"""Groups of up to this size are shown side by side."""
SCORED = ("Mean score", "95% interval")
"""The columns of a table whose agents play alone; the template writes scores as boards do."""
PODIUM, MOST_ON_PODIUM = 3, 8
"""The last rank on the podium, and the most agents named on it: any number may share a rank."""


def tournament_page(request: HttpRequest, tournament: Tournament) -> HttpResponse:
    """The page of an organisers' tournament; for htmx, only the part that changes while it is played."""
    if request.headers.get("HX-Target") == "planned":
        return _begun(tournament)
    rounds = rounds_visible(tournament, request.user)
    stamp = standing_stamp(tournament, rounds)
    state, rights = _state(tournament, rounds), _rights(request, tournament)
    if request.headers.get("HX-Target") in FRAGMENTS:
        if request.headers.get("X-Seen") == stamp:
            return HttpResponse(status=204)  # The viewer has this version already.
        if rights["may_act"] and rounds is None and not state["is_running"]:
            return _loaded_again()
    context = {
        "tournament": tournament,
        "environment": tournament.environment,
        **_rules(tournament),
        **state,
        **rights,
        "stamp": stamp,
        "page_address": request.get_full_path(),
        "preview_tags": picture_tags(tournament),
        **_registered(request, tournament),
        **_drawing(request, tournament, rounds, is_over=state["is_over"]),
    }
    return render_page(request, "web/tournaments/tournament.html", context, FRAGMENTS)


def _begun(tournament: Tournament) -> HttpResponse:
    """Have an open page of a planned tournament loaded again once it has begun."""
    return HttpResponse(status=204) if tournament.state == TournamentState.PLANNED else _loaded_again()


def _loaded_again() -> HttpResponse:
    """Have a page loaded again, whose buttons above the part belong to another state."""
    return HttpResponse(status=204, headers={"HX-Refresh": "true"})


def _state(tournament: Tournament, rounds: int | None) -> dict[str, Any]:
    """Return the state of a tournament. rounds: the last round whose results the viewer sees; None for all."""
    return {
        "is_running": tournament.state == TournamentState.RUNNING,
        "is_over": rounds is None and tournament.state == TournamentState.FINISHED,
        "is_planned": tournament.state == TournamentState.PLANNED,
        "is_withheld": rounds == 0,
        "unit": "evaluation" if tournament.plays_alone else "duel",
        "revealed": rounds,
    }


def _rights(request: HttpRequest, tournament: Tournament) -> dict[str, bool]:
    course = tournament.course_id
    can_strike = not tournament.is_automatic and tournament.state in VOIDABLE
    return {
        "may_change": may(request.user, "core.change_tournament", course),
        "may_act": acts_on(request.user, course),
        "may_disqualify": can_strike and may(request.user, "core.change_participant", course),
    }


def _rules(tournament: Tournament) -> dict[str, Any]:
    """Return the format, its settings and the rule by which duels end early, in words."""
    test = tournament_test(tournament=tournament, match_count=tournament.environment.matches_per_duel)
    return {
        "rule": FORMATS[tournament.format].rule if tournament.format in FORMATS else "",
        "baseline_rule": FORMATS[tournament.format].baseline_rule if tournament.baselines.exists() else "",
        "settings_words": settings_words(tournament),
        "seeding_words": seeding_words(tournament),
        "stopping": stopping_words(tournament, test),
    }


def _registered(request: HttpRequest, tournament: Tournament) -> dict[str, Any]:
    """The registrations of a planned tournament, or the number of participants."""
    if tournament.state != TournamentState.PLANNED:
        counts = tournament.participants.values_list("is_baseline").annotate(Count("pk")).order_by()
        competing, baselines = map(dict(counts).get, (False, True))
        return {"participant_count": competing, "baseline_count": baselines}
    card = shown_registration(request, tournament)
    step, step_at = next_step(tournament, now=timezone.now())
    return {
        "registration": card,
        "registrations": card.registrations,
        "places_left": card.places_left,
        "step": step,
        "step_at": step_at,
    }


def _drawing(request: HttpRequest, tournament: Tournament, until: int | None, *, is_over: bool) -> dict[str, Any]:
    """Return what is drawn of a tournament. until: the last round whose results the viewer sees; None for all."""
    drawn = standing_get(tournament, until)
    if drawn is None:
        return {"drawn": None}
    lines = drawn.lines(drawn.outline.table)
    best = [line for line in lines if line.row.rank <= PODIUM and line.participant.is_ranked]
    rounds, progress = round_count(tournament, len(lines), last_round(drawn)), tournament_progress(tournament)
    return {
        "drawn": drawn,
        "round_count": rounds,
        "running_words": evaluated_words(progress) if tournament.plays_alone else running_words(drawn, rounds),
        "is_all_at_once": is_all_at_once(drawn),
        "progress": progress,
        "podium": best[:MOST_ON_PODIUM] if is_over else [],
        "podium_more": max(0, len(best) - MOST_ON_PODIUM) if is_over else 0,
        **_stages(tournament, drawn),
        **_table(request, drawn, lines, is_over=is_over, is_alone=tournament.plays_alone),
        "shown": shown_round(drawn, request.GET.get("round", ""), rounds),
    }


def _stages(tournament: Tournament, drawn: Drawn) -> dict[str, Any]:
    stages = drawn.outline.stages
    grouped = [stage for stage in stages if stage.kind == StageKind.ALL_PLAY_ALL]
    sizes = [len(stage.table.rows) for stage in grouped if stage.table]
    brackets = [stage for stage in stages if stage.kind == StageKind.BRACKET and stage.rounds]
    goes_on = _advance(tournament, grouped)
    return {
        "crossed": [
            (stage, cross_table(drawn, stage), 0 if stage.key.startswith(play_off.KEY) else goes_on)
            for stage in grouped
        ],
        "are_groups_small": len(grouped) > 1 and max(sizes) <= SMALL_GROUP,
        "has_table": _has_table(drawn, grouped),
        "brackets": [(stage, *without_byes(bracket_columns(drawn, stage))) for stage in brackets],
    }


def _advance(tournament: Tournament, grouped: Sequence[Stage]) -> int:
    """How many of each group go on, once the groups are over; 0 before, and without groups."""
    if len(grouped) < 2 or any(meeting.is_open for stage in grouped for meeting in stage.meetings):
        return 0
    return int(tournament.settings.get("advance", 0))


def _table(
    request: HttpRequest, drawn: Drawn, lines: Sequence[TableRow], *, is_over: bool, is_alone: bool
) -> dict[str, Any]:
    """A page of the table of the whole, in a Swiss tournament with the meetings of each round."""
    page = Paginator(lines, ROWS_A_PAGE).get_page(page_number(request.GET))
    shown, columns, rounds = list(page.object_list), drawn.outline.table.columns, round_names(drawn)
    words = [
        []
        if is_alone
        else [cell_words(*cell, rounds, is_over=is_over) for cell in zip(columns, line.row.values, strict=True)]
        for line in shown
    ]
    swiss = next((stage for stage in drawn.outline.stages if stage.kind == StageKind.SWISS), None)
    return {
        "table": page,
        "columns": SCORED if is_alone else ["Reached" if column == REACHED else column for column in columns],
        "rows": list(zip(shown, words, strict=True)),
        "swiss": swiss,
        "swiss_rows": swiss_rows(drawn, swiss, shown) if swiss else (),
    }


def _has_table(drawn: Drawn, grouped: Sequence[Stage]) -> bool:
    """Return whether the table of the whole says more than those of its stages, which it does not while groups last."""
    if len(grouped) == 1:
        return False
    return drawn.round is None or all(drawn.round > len(stage.rounds) for stage in grouped)
