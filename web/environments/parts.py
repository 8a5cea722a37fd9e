"""The table of an edition, as the page of an environment shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.paginator import Paginator
from django.http import QueryDict

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from core.models import Environment, Tournament
from core.tournaments.results import Viewer
from core.tournaments.selectors import rating_pool_get
from core.tournaments.tables import table_rows
from web.evaluations.parts import page_number
from web.ratings.as_of import AsOfForm
from web.ratings.parts import with_ratings
from web.tournaments.table_parts import PARTICIPANTS_A_PAGE, SORT_TITLES, TableForm, own_elsewhere


def rules_folder(environment: Environment) -> Path | None:
    """Return the folder that holds the rules of an environment; None for one that has no folder of its own."""
    try:
        folder = get_spec(environment.spec_id).folder
    except UnknownEnvironment:
        return None
    return folder if (folder / "info.yml").is_file() else None


def edition_table(query: QueryDict, viewer: Viewer, tournament: Tournament, *, is_newest: bool) -> dict[str, Any]:
    """Return one page of an edition's table, and the places of the viewer's agents on other pages."""
    form = TableForm(query, auto_id="table_%s")
    wanted = form.wanted
    rows = table_rows(tournament, wanted, is_newest=is_newest)
    table = Paginator(rows, PARTICIPANTS_A_PAGE).get_page(page_number(query))
    return {
        "rows": with_ratings(table.object_list, is_newest=is_newest),
        "is_newest": is_newest,
        "pool": rating_pool_get(tournament.environment) if is_newest else None,
        "as_of": AsOfForm(),
        "table": table,
        "wanted": wanted,
        "sorts": SORT_TITLES,
        "filter": form,
        "own_elsewhere": own_elsewhere(viewer, tournament, wanted, table),
    }
