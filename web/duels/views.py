"""Pages of duels and their matches."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import conditional_page

from arena_kit.environment.record_archive import MatchSummary
from core.duels.highlights import highlights_beside
from core.duels.replays import duel_names, validation_names
from core.duels.selectors import NotStored, match_get, match_groups
from core.jobs.waits import wait_of
from core.tournaments.results import duel_visible
from core.watching.selectors import index_get, match_shown
from web.duels.course_parts import course_of
from web.duels.match_page import frames, viewer
from web.duels.match_parts import match_addresses, sharing
from web.duels.parts import group_views, match_filter, origin_crumbs, seat_shares, segments, won_so_far
from web.duels.viewer_parts import Context
from web.site.played import get_duel, get_validation, source_visible
from web.site.refusals import explained
from web.watching.parts import board_part, events_address


@conditional_page
@explained
def duel(request: HttpRequest, duel_id: int) -> HttpResponseBase:
    """Show a duel and its matches by result; for htmx only the part that changes while it is played."""
    row = get_duel(request, duel_id)
    context: Context = {
        "duel": row,
        "environment": row.environment,
        "crumbs": origin_crumbs(row),
        "names": duel_names(row),
        "wait": wait_of(row),
        "can_see_logs": [source_visible(request, player.agent) for player in (row.player_1, row.player_2)],
        "segments": list(segments(row)),
        "wanted": (wanted := match_filter(request.GET)),
    }
    index: Sequence[MatchSummary] = ()
    try:
        index = index_get(row)
        context["groups"] = group_views(match_groups(index, wanted), duel_names(row), wanted)
    except NotStored as missing:
        context["missing"] = str(missing)
    if not row.is_over:
        context |= {"board": board_part(row), "events": events_address(f"duels/{row.pk}")}
    context |= {"won": won_so_far(row, index), "shares": seat_shares(index, duel_names(row))}
    context["course"] = course_of(row, duel_names(row), index)
    part = request.headers.get("HX-Target") == "duel"
    return render(request, "web/duels/body.html" if part else "web/duels/duel.html", context)


@explained
def match(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Show one match of a duel in the viewer."""
    row = get_duel(request, duel_id)
    record, count, index = match_shown(row, number)
    names = duel_names(row)
    agents = (row.player_1.agent, row.player_2.agent)
    trace = record.faulty_player is not None and source_visible(request, agents[record.faulty_player])
    environment = row.environment
    # Other sites, and matches that go on from here, show what everyone may see.
    is_public = row.is_over and duel_visible(row, AnonymousUser())
    page = (reverse("web:duel", args=[row.pk]), f"{names[0]} against {names[1]}")
    context: Context = {
        "crumbs": [(reverse("web:environment", args=[environment.slug]), environment.name), *origin_crumbs(row), page],
        "duel": row,
        "environment": environment,
        "players": {1: row.player_1, 2: row.player_2},
        "is_void": row.is_void,
        "is_live": not row.is_over,
        "can_see_trace": trace,
        "go_on_url": reverse("web:match", args=[row.pk, number]) + "from/" if is_public else "",
        "sharing": sharing(row, record, count) if is_public else None,
        "beside": highlights_beside(row, index, number),
    }
    return viewer(request, row, record, count, names, match_addresses("web:match", row.pk, number, count), context)


@explained
def match_frames(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Return all states of a match as JSON."""
    row = get_duel(request, duel_id)
    return frames(request, row, number, duel_names(row))


@explained
def validation_match(request: HttpRequest, validation_id: int, number: int) -> HttpResponseBase:
    """Show one match of a submission against itself, to people who may see its logs."""
    row = get_validation(request, validation_id)
    record, count = match_get(row, number)
    agent = row.submission.agent
    environment = agent.environment
    context: Context = {
        "crumbs": [
            (reverse("web:environment", args=[environment.slug]), environment.name),
            (reverse("web:agent", args=[environment.slug, agent.name]), agent.name),
            ("", f"self-play of version {row.submission.number}"),
        ],
        "environment": environment,
        "players": dict.fromkeys((1, 2), row.submission),
        "can_see_trace": True,
    }
    addresses = match_addresses("web:validation_match", row.pk, number, count)
    return viewer(request, row, record, count, validation_names(row), addresses, context)


def validation_frames(request: HttpRequest, validation_id: int, number: int) -> HttpResponseBase:
    row = get_validation(request, validation_id)
    return frames(request, row, number, validation_names(row))
