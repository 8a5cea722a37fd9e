"""The parts of an environment's pages: the viewer's agents, the table of an edition, and the guide with its form."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import QueryDict
from django.utils import timezone

from arena_kit.environment.registry import own_slugs
from arena_kit.examples import names
from core.courses.teams import teams_of
from core.evaluations.episodes import spec_or_none
from core.evaluations.selectors import practice_list
from core.models import Environment, Tournament, User
from core.submissions.examples import takes_example
from core.submissions.selectors import OwnAgent
from core.tournaments.calendar import tournament_planned_list
from core.tournaments.results import Viewer
from core.tournaments.seasons import season_list
from core.tournaments.tables import own_place_list, table_rows
from web.environments.contract import contract
from web.environments.download_views import kits_of, own_players_of
from web.ratings.parts import with_ratings
from web.site.requests import page_number
from web.site.tables import ROWS_A_PAGE, TableForm, own_elsewhere, table_body
from web.submissions.forms import AgentForm
from web.submissions.parts import upload_quotas


def board_parts(row: Environment, own_agents: list[OwnAgent]) -> dict[str, Any]:
    """Return what every page with a board shows beside it: the viewer's agents and the seasons."""
    return {
        "environment": row,
        "own_agents": own_agents,
        "seasons": [] if row.is_app else season_list(row),
        # Called only by the page itself: the parts that refresh themselves do not show it.
        "planned": lambda: [] if row.is_app else tournament_planned_list(row, now=timezone.now()),
        "is_waiting": any(entry.is_moving for entry in own_agents),
    }


def writing_parts(viewer: Viewer, row: Environment, form: AgentForm) -> dict[str, Any]:
    """Return the form of an upload, and what the guide needs to know."""
    spec = spec_or_none(row.spec_id)
    practice = practice_list(row) if row.is_scored and not row.is_app else None
    return {
        "environment": row,
        "form": form,
        "quotas": upload_quotas(viewer, row, form) if isinstance(viewer, User) else [],
        # Lazy, because people who work as a team are shown that instead.
        "own_teams": lambda: teams_of(viewer) if isinstance(viewer, User) else (),
        "players": names(row.slug),
        "own_players": own_players_of(row),
        "kits": kits_of(row),
        # Lazy, because visitors are shown a login in place of the form.
        "example": lambda: example_for(viewer, row),
        # The folder of an organiser is not in arena-kit, nor is what a submission added.
        "is_outside": row.is_added or row.slug in own_slugs(),
        "contract": contract(spec, practice.seeds if practice else []) if spec and row.is_scored else None,
        "script": settings.SCRIPT_LIMITS,
        # The first is what an agent gets that does not ask for one.
        "pythons": [f"{major}.{minor}" for major, minor in settings.PLAYER_BASE_IMAGES],
    }


def example_for(viewer: Viewer, row: Environment) -> Environment | None:
    """Return the environment if its page offers the viewer, who has no agent there yet, to upload the example."""
    is_first = isinstance(viewer, User) and not viewer.agents.filter(environment=row).exists()
    return row if is_first and takes_example(row) else None


def edition_table(query: QueryDict, viewer: Viewer, tournament: Tournament, *, owner: int | None) -> dict[str, Any]:
    """Return one page of an edition's table, and the places of the viewer's agents on other pages.

    owner: the key of the viewer, if any agent is theirs.
    """
    form = TableForm(query, auto_id="table_%s")
    wanted = form.wanted
    table = Paginator(table_rows(tournament, wanted), ROWS_A_PAGE).get_page(page_number(query))
    return {
        "body": table_body(
            "web/environments/edition_rows.html",
            lambda: {"rows": with_ratings(table.object_list), "tournament": tournament},
            environment=tournament.environment,
            wanted=wanted,
            number=table.number,
            owner=owner,
            facts=[tournament.pk, tournament.state, tournament.table_version, tournament.ledger_version],
        ),
        "table": table,
        "wanted": wanted,
        "filter": form,
        "own_elsewhere": owner and own_elsewhere(viewer, partial(own_place_list, tournament), wanted, table),
    }
