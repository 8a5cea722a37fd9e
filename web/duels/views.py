"""Pages of duels and their matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from arena_kit.environment.record_archive import MatchSummary
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.views import FrameView
from arena_kit.referee.sitting import PERSON
from core.duels.replays import Names, duel_names, match_views, validation_names
from core.duels.selectors import (
    NotStored,
    duel_get,
    match_get,
    match_groups,
    spec_get,
    validation_get,
)
from core.duels.traces import match_trace
from core.jobs.waits import wait_of
from core.models import Agent, Duel, PlayedJob, User, Validation
from core.submissions.selectors import agent_source_visible
from core.tournaments.results import duel_check, duel_visible
from core.watching.selectors import index_get, match_shown
from web.duels.classic_html import painter, style_head
from web.duels.course_parts import course_of
from web.duels.match_parts import MatchAddresses, match_addresses, match_parts, sharing
from web.duels.parts import group_views, match_filter, segments
from web.duels.viewer_parts import Context, printed, timed, valued
from web.site.refusals import explained, status_of
from web.watching.parts import board_part, events_address


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
        "won": (row.player_1_wins + row.player_2_errors, row.player_2_wins + row.player_1_errors),
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
    context["course"] = course_of(row, duel_names(row), index)
    part = request.headers.get("HX-Target") == "duel"
    return render(request, "web/duels/body.html" if part else "web/duels/duel.html", context)


@explained
def match(request: HttpRequest, duel_id: int, number: int) -> HttpResponseBase:
    """Show one match of a duel in the viewer."""
    row = get_duel(request, duel_id)
    record, count = match_shown(row, number)
    names = duel_names(row)
    agents = (row.player_1.agent, row.player_2.agent)
    trace = record.faulty_player is not None and source_visible(request, agents[record.faulty_player])
    environment = row.environment
    # Other sites, and matches that go on from here, show what everyone may see.
    is_public = row.is_over and duel_visible(row, AnonymousUser())
    context: Context = {
        "crumbs": [
            (reverse("web:environment", args=[environment.slug]), environment.name),
            *origin_crumbs(row),
            (reverse("web:duel", args=[row.pk]), f"{names[0]} against {names[1]}"),
        ],
        "duel": row,
        "is_void": row.is_void,
        "is_live": not row.is_over,
        "can_see_trace": trace,
        "go_on_url": reverse("web:match", args=[row.pk, number]) + "from/" if is_public else "",
        "sharing": sharing(row, record, count) if is_public else None,
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
        "can_see_trace": True,
    }
    addresses = match_addresses("web:validation_match", row.pk, number, count)
    return viewer(request, row, record, count, validation_names(row), addresses, context)


def validation_frames(request: HttpRequest, validation_id: int, number: int) -> HttpResponseBase:
    row = get_validation(request, validation_id)
    return frames(request, row, number, validation_names(row))


def viewer(
    request: HttpRequest,
    job: PlayedJob,
    record: MatchRecord,
    count: int,
    names: Names,
    addresses: MatchAddresses,
    context: Context,
) -> HttpResponse:
    """Show the page of a match: one state without JavaScript, all of them with it."""
    context |= match_parts(record, names, trace=match_trace(job, record) if context["can_see_trace"] else "") | {
        "match_count": count,
        "environment_version": job.environment_version,
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
    is_sitting, may_go_on = "sitting" in context, bool(context.get("go_on_url"))
    states, position = _states_and_position(request, job, record, names, is_last_first=is_sitting)
    return {
        **_at(states, position),
        **valued(job, record, names, position, last=len(states) - 1, may_go_on=may_go_on),
        **timed(states, names, position, person=PERSON if is_sitting else None),
        **printed(job, record.number, states, names, position, viewer_of(request)),
        "styles": style_head(spec_get(job)),
    }


def _states_and_position(
    request: HttpRequest, job: PlayedJob, record: MatchRecord, names: Names, *, is_last_first: bool
) -> tuple[list[FrameView], int]:
    """Return the states of a match, and the number of the one to begin with. Raises NotStored."""
    states = match_views(job, record, names)
    if is_last_first and "ply" not in request.GET:
        return states, len(states) - 1
    return states, frame_number(request, len(states))


def _at(states: list[FrameView], position: int) -> Context:
    return {
        "states": states,
        "state": states[position],
        "position": position,
        "last": len(states) - 1,
        "is_simultaneous": any(len(state.seats) > 1 for state in states),
    }


@gzip_page
def frames(request: HttpRequest, job: PlayedJob, number: int, names: Names) -> JsonResponse:
    """Return {"frames": [{"svg", "text", "caption", "seats", "is_opening", "html", ...}]}, or {"error": a sentence}."""
    try:
        record, _ = match_shown(job, number) if isinstance(job, Duel) else match_get(job, number)
        states = match_views(job, record, names, html_of=painter(spec_get(job)))
    except NotStored as missing:
        return JsonResponse({"error": str(missing)}, status=status_of(missing))
    return JsonResponse({"frames": [asdict(state) for state in states]})


def frame_number(request: HttpRequest, count: int) -> int:
    """Return N of ?ply=N, limited to 0 .. count - 1; 0 if it is missing or not a number."""
    asked = request.GET.get("ply", "")
    wanted = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 0
    return min(wanted, count - 1)


def origin_crumbs(row: Duel) -> list[tuple[str, str]]:
    """Return the breadcrumbs to what the duel belongs to: a tournament, the agent of a promotion, or a challenge."""
    if row.tournament is not None:
        place = [row.environment.slug, row.tournament.edition]
        return [(reverse("web:edition", args=place), row.tournament.in_words)]
    if row.promotion is not None:
        agent = row.player_1.agent
        page = reverse("web:agent", args=[row.environment.slug, agent.name])
        return [(f"{page}?version={row.player_1.number}#v{row.player_1.number}", agent.name)]
    if row.challenge_id is not None:
        return [(reverse("web:challenge", args=[row.challenge_id]), "challenge")]
    return []


def viewer_of(request: HttpRequest) -> User | AnonymousUser:
    """Return the user of a request with the type that selectors expect."""
    assert isinstance(request.user, User | AnonymousUser)
    return request.user


def source_visible(request: HttpRequest, agent: Agent) -> bool:
    return agent_source_visible(agent, viewer_of(request))


def get_duel(request: HttpRequest, duel_id: int) -> Duel:
    """Return a duel whose results the viewer may see. Raises Http404 and HeldBack."""
    try:
        row = duel_get(duel_id)
    except Duel.DoesNotExist:
        raise Http404("There is no such duel.") from None
    assert request.user.is_anonymous or isinstance(request.user, User)
    duel_check(row, request.user)
    return row


def get_validation(request: HttpRequest, validation_id: int) -> Validation:
    """Return a validation that the viewer may see. Raises Http404, also if it exists but is private."""
    try:
        row = validation_get(validation_id)
    except Validation.DoesNotExist:
        raise Http404("There is no such validation.") from None
    if not source_visible(request, row.submission.agent):
        raise Http404("There is no such validation.")
    return row
