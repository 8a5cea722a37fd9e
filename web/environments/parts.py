"""The table of an edition, as the page of an environment shows it."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import QueryDict

from core.models import Participant, Tournament, User
from core.tournaments.results import Viewer
from core.tournaments.selectors import OwnPlace, own_place_list, rating_pool_get
from core.tournaments.tables import DEFAULT_SORT, TableFilter, table_rows
from web.evaluations.parts import page_number
from web.ratings.as_of import AsOfForm
from web.ratings.parts import with_ratings
from web.tournaments.table_parts import SORT_TITLES, TableForm

PARTICIPANTS_A_PAGE = 50
OWN_PLACES = 5
"""How many of the viewer's agents on other pages of the table are named; the best ones are."""


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
        "own_elsewhere": _own_elsewhere(viewer, tournament, wanted, table),
    }


def _own_elsewhere(
    viewer: Viewer, tournament: Tournament, wanted: TableFilter, table: Page[Participant]
) -> list[tuple[OwnPlace, int]]:
    """Return the best places of the viewer's agents that the page does not show, each with its page's number.

    Places are known only for the whole table in order of rank; for other tables this is empty.
    """
    if wanted.is_filtered or wanted.sort != DEFAULT_SORT or not isinstance(viewer, User):
        return []
    shown = range(table.start_index(), table.end_index() + 1)
    places = [place for place in own_place_list(tournament, viewer) if place.row not in shown]
    return [(place, -(-place.row // PARTICIPANTS_A_PAGE)) for place in places[:OWN_PLACES]]
