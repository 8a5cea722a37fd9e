"""The page of an agent: made as a whole, and asked for again as a whole while anything on it moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from core.cache.answers import cached
from core.consistent import one_moment
from core.courses.teams import team_parts
from core.courses.tutoring import SOURCES
from core.duels.challenge_selectors import active_version
from core.models import Agent, User
from core.people.audit_log import sender_of
from core.people.rights import courses_with, may, roles_of
from core.submissions.last_duels import last_duels, latest_of
from core.submissions.progress import OWNED, Playing, Progress, agent_progress, playing_now
from core.submissions.tries import agent_visible
from core.tournaments.results import Viewer
from core.watching.shown import STILL_SECONDS, Shown, agent_shown, now_shown
from web.site.context_processors import unread_shown
from web.site.fragments import render_page
from web.site.kept import for_one_reader
from web.site.requests import viewer_of
from web.submissions.forms import FilesForm
from web.submissions.parts import agent_parts, upload_quotas
from web.submissions.standing_part import Place, place_of

FRAGMENTS = {"agent": "web/submissions/agent_body.html"}


class State(NamedTuple):
    """The progress of an agent, and the parts of its page that were read to find it.

    last: the keys of its latest duels, each with the side on which it played. place: only on a board of scores.
    """

    progress: Progress
    last: dict[int, str]
    place: Place | None


def agent_page(
    request: HttpRequest, row: Agent, form: FilesForm, status: int = 200, more: Mapping[str, object] | None = None
) -> HttpResponse:
    """Render the agent's page, or for htmx its body, unless the viewer has this state already.

    more: context of another refused form. Raises Http404 for agents that the viewer may not know of.
    """
    viewer = viewer_of(request)
    if not agent_visible(row, viewer):
        raise Http404("There is no such agent in this environment.")
    seen = request.headers.get("X-Seen") if request.headers.get("HX-Target") in FRAGMENTS else None
    if seen is not None and seen == _strangers_stamp(row, viewer):
        return HttpResponse(status=204)
    with one_moment():
        shown = cache(lambda: agent_shown(row.environment.slug, row.name) or now_shown())
        state = None if _is_as_strangers_see_it(request, row, viewer, shown) else _state(row, viewer)
        if state is not None and seen == state.progress.stamp:
            return HttpResponse(status=204)
        team = team_parts(row.owner, sender_of(request))

        def make() -> HttpResponse:
            context = _context(request, row, state or _state(row, viewer), form) | team | dict(more or {})
            return render_page(request, "web/submissions/agent.html", context, FRAGMENTS, status)

        return for_one_reader(request, lambda: [*_facts(request, row, state, shown()), str(team)], make)


def _context(request: HttpRequest, row: Agent, state: State, form: FilesForm) -> dict[str, object]:
    """Return what the page shows beside the team of its owner."""
    place = state.place or place_of(row, active_version(row))
    parts = agent_parts(row, viewer_of(request), request.GET, place, last_duels(state.last))
    context = parts | {"progress": state.progress, "form": form}
    if context["takes_versions"]:
        context["quotas"] = upload_quotas(row.owner, row.environment, form)
    return context


def _strangers_stamp(row: Agent, viewer: Viewer) -> str | None:
    """Return the stamp that all strangers share, computed for one of many who watch; None for an account."""
    if isinstance(viewer, User):
        return None
    shown = agent_shown(row.environment.slug, row.name) or now_shown()
    return cached(f"stamp:{row.pk}", str, lambda: _state(row, viewer).progress.stamp, version=shown.version)


def _is_as_strangers_see_it(request: HttpRequest, row: Agent, viewer: Viewer, shown: Callable[[], Shown]) -> bool:
    """Return whether the version that strangers have is enough for a whole page, which shows no more than they see.

    shown: returns that version. Where something moves, people who are logged in need a state, which is found in a part
    of the time that their page takes.
    """
    is_whole = request.method == "GET" and "HX-Target" not in request.headers
    is_strangers = row.owner_id != viewer.pk and not may(viewer) and not courses_with(viewer, SOURCES)
    return is_whole and is_strangers and (not isinstance(viewer, User) or shown().seconds == STILL_SECONDS)


def _facts(request: HttpRequest, row: Agent, state: State | None, shown: Shown) -> list[object]:
    """Return what the page of an agent depends on for a person who is logged in.

    state: None for a page as strangers see it, while nothing moves. shown: the version of that.
    """
    viewer = viewer_of(request)
    assert isinstance(viewer, User)
    return [
        *[state and state.progress.stamp, shown.version, unread_shown(request), OWNED(viewer.pk, row.environment_id)],
        *[roles_of(viewer), may(viewer, "core.view_submission")],
    ]


def _state(row: Agent, viewer: Viewer) -> State:
    """Return how far all of an agent is now."""
    if not row.environment.is_scored:
        last = latest_of(row, viewer)
        return State(agent_progress(row, playing_now(row), last, now=timezone.now()), last, None)
    place = place_of(row, None)
    playing = Playing(None if place.playing is None else place.playing.pk, place.rank)
    return State(agent_progress(row, playing, (), now=timezone.now()), {}, place)
