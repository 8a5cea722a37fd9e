"""The parts of a board's page: the filter, rows on one scale, pages and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django import forms
from django.http import QueryDict

from core.evaluations.board import SORTS, BoardFilter, BoardRow, board_page
from core.models import Environment
from web.site.forms import MomentField
from web.site.requests import page_number
from web.site.whiskers import Whisker, whiskers

PAGE_ROWS = 50


class BoardForm(forms.Form):
    """The filter of a board, with the API's field names. A wrong value is reported and not applied."""

    user = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    algorithm = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    score_min = forms.FloatField(required=False, label="Score from", widget=forms.NumberInput(attrs={"step": "any"}))
    score_max = forms.FloatField(required=False, label="Score to", widget=forms.NumberInput(attrs={"step": "any"}))
    date_from = forms.DateField(required=False, label="Day from", widget=forms.DateInput(attrs={"type": "date"}))
    date_to = forms.DateField(required=False, label="Day to", widget=forms.DateInput(attrs={"type": "date"}))
    id_query = forms.CharField(
        required=False, max_length=40, label="Id", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    as_of = MomentField(required=False, label="Board as of (UTC)")
    verified = forms.BooleanField(required=False, label="Verified only")

    def clean_verified(self) -> bool | None:
        """Return None for an empty box: it sets no filter. False would equal 0, which `wanted` keeps as a bound."""
        return self.cleaned_data["verified"] or None

    @property
    def wanted(self) -> BoardFilter:
        """The filter and order that the address asks for, without values that are wrong."""
        self.full_clean()
        found = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        sort = self.data.get("sort", "")
        return BoardFilter(**found, sort=sort if sort in SORTS else "score_desc")


@dataclass(frozen=True, slots=True)
class RowView:
    """A row with its whisker on the scale that all rows share."""

    row: BoardRow
    whisker: Whisker | None
    is_own: bool


@dataclass(frozen=True, slots=True)
class BoardView:
    """A page of a board.

    solved_at: place on the scale where the task counts as solved, None if the spec does not say. as_of: None for now.
    """

    rows: Sequence[RowView]
    total: int
    number: int
    count: int
    sort: str
    is_filtered: bool
    solved_at: float | None
    as_of: datetime | None


def board_view(environment: Environment, query: QueryDict, username: str, solved: float | None) -> BoardView:
    """Return the rows that an address asks for.

    username: the user whose rows are marked. solved: score at which the task counts as solved.
    """
    wanted = BoardForm(query).wanted
    number = page_number(query)
    page = board_page(environment, wanted, offset=(number - 1) * PAGE_ROWS, limit=PAGE_ROWS)
    count = max(1, -(-page.total // PAGE_ROWS))
    marks = () if solved is None else (solved,)
    spans = [(_or(row.score_low, row.score), row.score, _or(row.score_high, row.score)) for row in page.rows]
    placed, solved_at = whiskers(spans, *marks, scaled_by=[row.is_verified for row in page.rows])
    rows = [
        RowView(row, whisker, is_own=bool(username) and not row.user_label and row.owner == username)
        for row, whisker in zip(page.rows, placed, strict=True)
    ]
    is_filtered = wanted != BoardFilter(sort=wanted.sort, as_of=wanted.as_of)
    place = solved_at[0] if solved_at else None
    return BoardView(rows, page.total, number, count, wanted.sort, is_filtered, place, wanted.as_of)


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
