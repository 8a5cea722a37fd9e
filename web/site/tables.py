"""Tables of versions: the form that filters them, and the places of the viewer's agents on other pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.core.paginator import Page
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from core.models import Environment, User
from core.ratings.tables import DEFAULT_SORT, LARGEST_COUNT, SORTS, OwnPlace, TableFilter
from core.tournaments.results import Viewer
from web.site.kept import for_all_readers

ROWS_A_PAGE = 50
OWN_PLACES = 5
"""The number of the viewer's agents on other pages of the table that are named, the best ones."""
TEXT = {"autocomplete": "off"}


class TableForm(forms.Form):
    """The filter with the names of the API; wrong values are reported and not applied."""

    q = forms.CharField(required=False, max_length=100, label="Search", widget=forms.TextInput(attrs=TEXT))
    owner = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs=TEXT))
    team = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs=TEXT))
    matches_min = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_COUNT, label="Rated matches from")

    @property
    def wanted(self) -> TableFilter:
        """The filter of the values that are valid."""
        self.full_clean()
        found = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        sort = self.data.get("sort", "")
        return TableFilter(**found, sort=sort if sort in SORTS else DEFAULT_SORT)


def own_elsewhere(
    viewer: Viewer, find: Callable[[User], list[OwnPlace]], wanted: TableFilter, table: Page[Any]
) -> list[tuple[OwnPlace, int]]:
    """Return the best places of the viewer's agents that the page does not show, each with its page's number.

    Places are known only for the whole table in order of rank; for other tables this is empty. find: returns all.
    """
    if wanted.is_filtered or wanted.sort != DEFAULT_SORT or not isinstance(viewer, User):
        return []
    shown = range(table.start_index(), table.end_index() + 1)
    places = [place for place in find(viewer) if place.row not in shown]
    return [(place, -(-place.row // table.paginator.per_page)) for place in places[:OWN_PLACES]]


def table_body(
    template: str,
    context: Callable[[], dict[str, object]],
    *,
    environment: Environment,
    wanted: TableFilter,
    number: int,
    owner: int | None,
    facts: Sequence[object],
) -> SafeString:
    """Return the rows of a page of a table as HTML: rendered once for all readers, then with those of `owner` marked.

    number: of the page. owner: the key of the viewer, if any agent is theirs. facts: which table it is, and what tells
    its versions apart.
    """

    def make() -> str:
        return render_to_string(template, context() | {"environment": environment}).strip()

    # Filters are too many to keep.
    slug = None if wanted.is_filtered else environment.slug
    html = for_all_readers(f"{template}:{wanted.sort}:{number}", slug, facts, str, make)
    # Names cannot look like this: templates escape their quotes.
    return mark_safe(html.replace(f' owner-{owner}">', ' own">'))  # noqa: S308  (rendered by a template, which escapes)
