"""What a board's page shows: the filter, rows on one scale, pages and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from django import forms
from django.http import QueryDict

from arena_kit.ranking.paired import Paired
from arena_kit.ranking.verdicts import same_seeds_sentence
from core.evaluations.board import SORTS, BoardFilter, BoardRow, board_page
from core.models import Environment, Evaluation
from web.evaluations.parts import page_number
from web.site.as_of import MomentField
from web.site.charts import Series, overlaid, short
from web.site.plots import Plot
from web.site.whiskers import Whisker, whiskers

PAGE_ROWS = 50
LOOKS = (
    ("A", "--first", ()),
    ("B", "--second", (7, 3)),
    ("C", "--third", (2, 3)),
    ("D", "--fourth", (9, 3, 2, 3)),
)
"""Letter, colour and dash pattern of each compared agent, so that they differ without colour too."""


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


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the compared submissions. letter: its name among the differences. colour, dash: those of its line."""

    letter: str
    colour: str
    dash: tuple[int, ...]
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class Pair:
    """Two compared submissions. paired: None if their seeds differ. better, worse, equal: numbers of episodes."""

    first: Compared
    second: Compared
    paired: Paired | None
    better: int = 0
    worse: int = 0
    equal: int = 0

    @property
    def sentence(self) -> str:
        """The verdict in words; empty if their seeds differ."""
        names = (str(self.first.evaluation.submission), str(self.second.evaluation.submission))
        return "" if self.paired is None else same_seeds_sentence(self.paired, *names)


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


def side_by_side(evaluations: Sequence[Evaluation]) -> list[Compared]:
    """Give each evaluation its letter, colour and dash pattern."""
    return [Compared(*look, evaluation) for look, evaluation in zip(LOOKS, evaluations, strict=False)]


def pairs(compared: Sequence[Compared], differences: Sequence[Sequence[Paired | None]]) -> list[Pair]:
    """Pair every two submissions, with their comparison seed by seed."""
    return [
        _pair(compared[row], compared[column], differences[row][column])
        for row, column in combinations(range(len(compared)), 2)
    ]


def distributions(compared: Sequence[Compared]) -> Plot | None:
    """Draw the scores of all submissions in one chart; None if none has different scores."""
    if all(len(set(scores(one.evaluation))) < 2 for one in compared):
        return None
    return overlaid(
        [
            Series(one.letter, str(one.evaluation.submission), scores(one.evaluation), one.colour, one.dash)
            for one in compared
        ]
    )


def constants(compared: Sequence[Compared]) -> list[str]:
    """Return a sentence for each submission whose episodes all scored the same."""
    found = []
    for one in compared:
        own = scores(one.evaluation)
        if own and min(own) == max(own):
            episodes = "The only episode" if len(own) == 1 else f"All {len(own)} episodes"
            found.append(f"{one.letter}: {episodes} of {one.evaluation.submission} scored {short(own[0])}.")
    return found


def scores(evaluation: Evaluation) -> list[float]:
    """Return the scores of an evaluation's episodes, in order."""
    return [float(score) for _, score, _, _ in evaluation.episodes]


def _pair(first: Compared, second: Compared, paired: Paired | None) -> Pair:
    if paired is None:
        return Pair(first, second, None)
    own, other = scores(first.evaluation), scores(second.evaluation)
    signs = [(one > two) - (one < two) for one, two in zip(own, other, strict=True)]
    return Pair(first, second, paired, signs.count(1), signs.count(-1), signs.count(0))


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
