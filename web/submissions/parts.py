"""The parts of an agent's page: its versions, its ratings over time, and what the viewer may do."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from core.duels.challenge_selectors import active_version
from core.evaluations.board import board_rank
from core.models import Agent, Environment, Opponents, QuotaName, Submission, User
from core.people.quota_selectors import quota_limit, quota_list
from core.people.rights import may
from core.ratings.history import rating_history
from core.sittings.permissions import sitting_obstacle
from core.sittings.selectors import people_record
from core.submissions.selectors import agent_source_visible, version_list
from core.tournaments.results import Viewer
from web.people.quota_parts import QuotaLine, lines
from web.ratings.parts import history_plot
from web.site.requests import page_number, whole_number
from web.submissions.challenge_parts import challenge_part
from web.submissions.forms import FilesForm
from web.submissions.resting import RIGHT

VERSIONS_A_PAGE = 20


def agent_rights(agent: Agent, viewer: Viewer) -> dict[str, bool]:
    """Return what a person may do with an agent and see of it."""
    is_owner = agent.owner_id == viewer.pk
    is_open = agent.is_quarantined or not agent.is_disabled
    return {
        "is_owner": is_owner,
        "may_rest": (is_owner or may(viewer, RIGHT)) and not agent.environment.is_scored,
        "takes_versions": is_owner and is_open and agent.environment.is_available,
        "can_see_source": agent_source_visible(agent, viewer),
    }


def agent_parts(agent: Agent, viewer: User | AnonymousUser, query: QueryDict, wanted: int | None) -> dict[str, Any]:
    """Return what the page of an agent shows; only one version and what it needs with the number `wanted`."""
    playing = None if agent.environment.is_scored else active_version(agent)
    return {
        **_versions(agent, playing, viewer, query, wanted),
        **_history(agent, wanted),
        **({} if wanted is not None else _standing(agent, playing)),
        **sitting_part(agent, playing, viewer),
        # Lazy, because a version that refreshes itself does not show challenges.
        "challenges": SimpleLazyObject(partial(challenge_part, viewer, agent, playing)),
    }


def _standing(agent: Agent, playing: Submission | None) -> dict[str, Any]:
    """Return the text in the head of the page on the version that plays, or is on the board; None without one.

    playing: the result of `active_version`.
    """
    if agent.environment.is_scored:
        current = agent.evaluations.filter(is_current=True).select_related("submission").defer("log").first()
        return {"standing": current, "standing_rank": None if current is None else board_rank(current)}
    return {"standing": playing}


def _versions(
    agent: Agent, playing: Submission | None, viewer: Viewer, query: QueryDict, wanted: int | None
) -> dict[str, Any]:
    """Return one page of versions, newest first, or only the version with the number `wanted`.

    playing: the result of `active_version`.
    """
    pages = _pages(agent, query)
    offset = 0 if wanted is not None else max(0, pages.start_index() - 1)
    is_publishing = bool(settings.PUBLISHER_REMOTE)
    found = version_list(
        agent,
        playing=playing,
        is_publishing=is_publishing,
        viewer=viewer,
        number=wanted,
        offset=offset,
        limit=VERSIONS_A_PAGE,
    )
    return {"pages": pages, "versions": found, "version": found[0] if found else None}


def _history(agent: Agent, wanted: int | None) -> dict[str, Any]:
    """Return the ratings over time and their chart; None for agents with scores, and where one version is `wanted`."""
    history = None if agent.environment.is_scored or wanted is not None else rating_history(agent)
    return {"history": history, "history_plot": None if history is None else history_plot(history)}


def _pages(agent: Agent, query: QueryDict) -> Page[Submission]:
    """Return the page of versions that `?page=N` asks for, or the page that contains `?version=N`."""
    newest_first = agent.submissions.order_by("-number")
    number, version = page_number(query), whole_number(query.get("version", ""))
    if "page" not in query and version is not None:
        number = newest_first.filter(number__gt=version).count() // VERSIONS_A_PAGE + 1
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
    """Return a person's upload quotas in an environment, and limit the form's file size.

    The quotas are counted only when a page shows them.
    """
    largest = quota_limit(QuotaName.UPLOAD_BYTES, owner=user, environment=environment)
    if largest is not None:
        form.limit(largest)
    now = timezone.now()

    # Lazy, because the parts of a page that refresh themselves do not show quotas.
    def of_uploads() -> list[QuotaLine]:
        found = quota_list(user, environment, now=now)
        return lines((row for row in found if row.name != QuotaName.CHALLENGES_PER_DAY), now=now)

    lazy: Any = SimpleLazyObject(of_uploads)
    return cast(list[QuotaLine], lazy)
