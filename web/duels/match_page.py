"""The page of a match in the viewer: one state without JavaScript, all of them with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page

from arena_kit.environment.adapters.classic.html import AddressOf, Head, head_of, html_of
from arena_kit.environment.choices import picture_size
from arena_kit.environment.protocol import ArenaEnvironmentError, Frame
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.views import FrameView, seat_views
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.sitting import PERSON
from core.duels.replays import Names, match_views
from core.duels.selectors import NotStored, match_get, spec_get
from core.duels.traces import match_trace
from core.models import Duel, PlayedJob, Sitting
from core.watching.selectors import match_shown
from web.analyses.parts import shares_of
from web.duels.match_parts import MatchAddresses, match_parts
from web.duels.viewer_parts import Context, printed, timed, valued
from web.site.refusals import status_of
from web.site.requests import frame_number, viewer_of

WIDE = 1.3
"""From this ratio of its sides on, a board is as wide as the page lets it be."""


def viewer(
    request: HttpRequest,
    job: PlayedJob,
    record: MatchRecord,
    count: int,
    names: Names,
    addresses: MatchAddresses,
    context: Context,
) -> HttpResponse:
    """Show the page of a match. context: its `players` are the submissions by player (1, 2), if they are agents'."""
    context |= match_parts(record, names, trace=match_trace(job, record) if context["can_see_trace"] else "") | {
        "match_count": count,
        "seats": [(seat, context.get("players", {}).get(seat.player)) for seat in seat_views(record, names)],
        "environment_version": job.environment_version,
        "page": addresses.page,
        "frames_url": addresses.frames,
        "files": addresses.files,
        "previous_url": addresses.previous,
        "next_url": addresses.next,
    }
    try:
        context |= _states_shown(request, job, record, names, context)
    except NotStored as missing:
        context["missing"] = str(missing)
    return render(request, "web/duels/match.html", context)


def _states_shown(request: HttpRequest, job: PlayedJob, record: MatchRecord, names: Names, context: Context) -> Context:
    """Return the states of a match and what stands around them. Raises NotStored."""
    is_sitting, is_own, is_duel = "sitting" in context, context.get("is_own", False), isinstance(job, Duel)
    states, position = _states_and_position(request, job, record, names, is_own=is_own)
    may_play_out = is_duel and bool(context.get("go_on_url"))
    values = valued(job, record, names, position, last=len(states) - 1, may_play_out=may_play_out)
    return {
        **_at(states, position),
        # A person has just seen their own match, and an address with a state shows that state.
        "plays": not is_own and "ply" not in request.GET and position < len(states) - 1,
        **values,
        **timed(states, names, position, person=PERSON if is_sitting else None, marks=values.get("marks", {})),
        **printed(job, record.number, states, names, position, viewer_of(request)),
        "styles": style_head(spec_get(job)),
    }


def _states_and_position(
    request: HttpRequest, job: PlayedJob, record: MatchRecord, names: Names, *, is_own: bool
) -> tuple[list[FrameView], int]:
    """Return the states of a match, and the number of the one to begin with. Raises NotStored.

    That is the one after the opening, or the last for a person who has just played the match.
    """
    states = match_views(job, record, names)
    if "ply" in request.GET:
        return states, frame_number(request, len(states))
    return states, len(states) - 1 if is_own else sum(state.is_opening for state in states)


def _at(states: list[FrameView], position: int) -> Context:
    width, height = picture_size(states[position].svg)
    return {
        "is_wide": width > WIDE * height,
        "states": states,
        "state": states[position],
        "position": position,
        "last": len(states) - 1,
        "is_simultaneous": any(len(state.seats) > 1 for state in states),
    }


@gzip_page
def frames(request: HttpRequest, job: PlayedJob, number: int, names: Names) -> JsonResponse:
    """Return {"frames": [{"svg", "text", "caption", "seats", "is_opening", "html", ...}]}, or {"error": a sentence}.

    A match that is analysed has "shares", too: by state, player 1's share of the bar of values in percent, or null.
    """
    try:
        record, *_ = match_shown(job, number) if isinstance(job, Duel) else match_get(job, number)
        states = match_views(job, record, names, html_of=painter(spec_get(job)))
    except NotStored as missing:
        return JsonResponse({"error": str(missing)}, status=status_of(missing))
    shares = shares_of(job, record) if isinstance(job, Duel | Sitting) and job.is_over else ()
    return JsonResponse({"frames": [asdict(state) for state in states]} | ({"shares": shares} if shares else {}))


def address_in(spec: EnvironmentSpec) -> AddressOf:
    """Return what gives the address of a file in an environment's `static/`."""
    return lambda name: f"{settings.STATIC_URL}environments/{spec.slug}/{name}"


def style_head(spec: EnvironmentSpec) -> Head | None:
    """Return what styles the HTML of a classic environment; None for others, and where it cannot be asked."""
    if spec.classic is None:
        return None
    try:
        return head_of(spec, address_in(spec))
    except ArenaEnvironmentError:
        return None


def painter(spec: EnvironmentSpec) -> Callable[[Frame], str] | None:
    """Return what draws the HTML of a classic environment; None for others."""
    return None if spec.classic is None else partial(html_of, spec, address_of=address_in(spec))
