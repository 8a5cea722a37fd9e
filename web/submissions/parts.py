"""The parts of an agent's page: its standing, results and versions, and what the viewer may do."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from core.models import Agent, Environment, Opponents, QuotaName, Submission, User
from core.people.quota_selectors import quota_limit, quota_list
from core.people.rights import may
from core.ratings.history import rating_history
from core.ratings.opponents import record_get
from core.sittings.permissions import sitting_obstacle
from core.sittings.selectors import people_record
from core.submissions.existing import delete_obstacle
from core.submissions.last_duels import LastDuel, edition_ratings
from core.submissions.selectors import agent_source_visible, version_list
from core.submissions.tries import versions_of
from core.tournaments.results import Viewer
from web.people.quota_parts import QuotaLine, lines
from web.ratings.parts import history_plot
from web.site.requests import page_number, whole_number
from web.submissions.blunder_views import blunders_part
from web.submissions.challenge_parts import challenge_part
from web.submissions.forms import FilesForm
from web.submissions.last_part import last_groups
from web.submissions.resting import RIGHT
from web.submissions.standing_part import Place, plays_or_not

VERSIONS_A_PAGE = 20
POINTS = 100
"""The chart and the table of ratings have about this many points at most."""
OPPONENTS = 10
"""The record lists this many opponents."""


def agent_rights(agent: Agent, viewer: Viewer) -> dict[str, bool]:
    """Return what a person may do with an agent and see of it."""
    is_owner = agent.owner_id == viewer.pk
    is_open = agent.is_quarantined or not agent.is_disabled
    return {
        "is_owner": is_owner,
        "may_rest": is_owner or may(viewer, RIGHT),
        "may_delete": is_owner and not delete_obstacle(agent),
        "takes_versions": is_owner and is_open and not agent.environment.closed_because,
        "can_see_source": agent_source_visible(agent, viewer),
    }


def agent_parts(
    agent: Agent, viewer: User | AnonymousUser, query: QueryDict, place: Place, last: list[LastDuel]
) -> dict[str, Any]:
    """Return the parts of an agent's page. last: its latest duels."""
    playing = None if agent.environment.is_scored else place.playing
    versions = _versions(agent, playing, viewer, query)
    newest = versions["versions"][0] if versions["versions"] and versions["pages"].number == 1 else None
    return {
        "agent": agent,
        "environment": agent.environment,
        "page": reverse("web:agent", args=[agent.environment.slug, agent.name]),
        **agent_rights(agent, viewer),
        **versions,
        "newest": newest,
        "place": place,
        "answer": plays_or_not(agent, place.playing, newest),
        **({} if agent.environment.is_scored else _results(agent, last)),
        "blunders": blunders_part(agent, viewer),
        **sitting_part(agent, playing, viewer),
        "challenges": challenge_part(viewer, agent, playing),
    }


def _versions(agent: Agent, playing: Submission | None, viewer: Viewer, query: QueryDict) -> dict[str, Any]:
    """Return one page of versions, newest first. opened: the number of the one that the address names.

    playing: the result of `active_version`.
    """
    pages = _pages(agent, viewer, query)
    found = version_list(
        agent,
        [key for key, _ in pages],
        playing=playing,
        is_publishing=bool(settings.PUBLISHER_REMOTE),
        viewer=viewer,
        has_newest=pages.number == 1,
    )
    return {"pages": pages, "versions": found, "opened": whole_number(query.get("version", ""))}


def _results(agent: Agent, last: list[LastDuel]) -> dict[str, Any]:
    """Return the latest duels by tournament, the record, and the ratings over time with their chart."""
    ratings = edition_ratings(agent) if last else {}
    history = rating_history(agent, POINTS)
    return {
        "last": last_groups(last, ratings),
        "record": record_get(agent, most=OPPONENTS),
        "history": history,
        "history_plot": history_plot(history),
    }


def _pages(agent: Agent, viewer: Viewer, query: QueryDict) -> Page[tuple[int, int]]:
    """Return the page of versions that `?page=N` asks for, or the page that contains `?version=N`."""
    newest_first = versions_of(agent, viewer)
    number, version = page_number(query), whole_number(query.get("version", ""))
    if "page" not in query and version is not None:
        number = sum(one > version for _, one in newest_first) // VERSIONS_A_PAGE + 1
    return Paginator(newest_first, VERSIONS_A_PAGE).get_page(number)


def sitting_part(agent: Agent, playing: Submission | None, viewer: User | AnonymousUser) -> dict[str, Any]:
    """Return why a person cannot play against an agent, and whom its owner may let play; nothing for other games.

    playing: the result of `active_version`.
    """
    if agent.environment.is_app or agent.environment.seats != 2:
        return {}
    user = viewer if isinstance(viewer, User) else None
    return {
        "sitting_obstacle": sitting_obstacle(agent, playing, user),
        "opponents": Opponents.choices,
        "people": people_record(agent),
    }


def upload_quotas(user: User, environment: Environment, form: FilesForm) -> list[QuotaLine]:
    """Return a person's upload quotas in an environment, and limit the form's file size."""
    largest = quota_limit(QuotaName.UPLOAD_BYTES, owner=user, environment=environment)
    if largest is not None:
        form.limit(largest)
    now = timezone.now()
    return lines(quota_list(user, environment, now=now, has_challenges=False), now=now)
