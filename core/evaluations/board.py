"""The leaderboard of an environment that is ranked by score: rows with their ranks, filtered and sorted.

An agent stands on it with its current evaluation. Verified evaluations come before self-reported ones of scripts;
equal scores share a rank (1, 1, 3), and the earlier one is listed first.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value, When, Window
from django.db.models.functions import Cast, Rank, Replace

from arena_kit.ranking.scores import Interval
from core.cache.answers import cached
from core.courses.sight import Viewer, listed
from core.evaluations.comparison import difference
from core.evaluations.standing import standing, stood
from core.lookup import ByKey, Lookup
from core.models import Environment, Evaluation, Submission
from core.monitoring.metrics import leaderboard_asked

SORTS = {
    "score_desc": ("-is_verified", "-score", "created_at", "pk"),
    "date_desc": ("-created_at", "-pk"),
    "date_asc": ("created_at", "pk"),
}
DEFAULT_SORT = "score_desc"
MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
MOST_ROWS = 100
"""Maximum number of rows on a page."""
FURTHEST = 10**9
"""Maximum offset into a board; databases cannot count without bound."""
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
LONGEST_TEXT = 200
"""Maximum length of a searched text: no searched column holds a longer one."""
ONE_DAY = timedelta(days=1)
Level = tuple[bool, float]
"""Whether a row is verified, and its score: rows of the same level share a rank."""


@dataclass(frozen=True, slots=True)
class BoardFilter:
    """Which rows of a board are wanted. Texts match anywhere, in any case; days are whole days in UTC.

    as_of: the board as it stood at that moment, None for now.
    """

    id_query: str = ""
    user: str = ""
    algorithm: str = ""
    score_min: float | None = None
    score_max: float | None = None
    date_from: date | None = None
    date_to: date | None = None
    verified: bool | None = None
    as_of: datetime | None = None
    sort: str = DEFAULT_SORT


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One agent on the board.

    rank, medal: in the whole board, whatever the filter shows. The first three ranks get medals, even with negative
    scores; self-reported rows get them only while the board has no verified row.
    """

    rank: int
    medal: str
    public_id: UUID
    agent: str
    number: int
    owner: str
    user_label: str
    """The name that an anonymous client gave, empty otherwise."""
    algorithm: str
    score: float
    score_low: float | None
    score_high: float | None
    interquartile_mean: float | None
    median: float | None
    worst_decile: float | None
    seconds_per_move: float | None
    episode_count: int
    is_verified: bool
    created_at: datetime
    evaluation_id: int
    submission_id: int
    difference: Interval | None = None
    """Paired difference to the row above, even if that is on the previous page; None without common seeds."""

    @property
    def user(self) -> str:
        """The name to show: that of the owner, or the one that an anonymous client gave."""
        return self.user_label or self.owner


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Some rows of a board. total: the number of rows that match the filter."""

    rows: tuple[BoardRow, ...]
    total: int


def board_page(environment: Environment, filters: BoardFilter, *, offset: int = 0, limit: int = 50) -> BoardPage:
    """Return rows of a board, at most a second old. limit: at most MOST_ROWS."""
    offset, limit = min(max(0, offset), FURTHEST), min(max(0, limit), MOST_ROWS)
    # The key contains the columns: processes of two versions may share a cache during an upgrade.
    text = repr((BoardRow.__slots__, environment.pk, filters, offset, limit))
    key = f"board:{hashlib.blake2b(text.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"
    started = time.perf_counter()
    page = cached(key, BoardPage, lambda: _page(environment, filters, offset, limit))
    sort = filters.sort if filters.sort in SORTS else DEFAULT_SORT
    leaderboard_asked(env_id=environment.env_id, sort=sort, seconds=time.perf_counter() - started)
    return page


def board_rank(evaluation: Evaluation) -> int | None:
    """Return the rank of an evaluation, at most a second old; None when it is not on the board."""
    return cached(f"board-rank:{evaluation.pk}", int | None, lambda: _rank(evaluation.pk))


def environments_with_boards(viewer: Viewer) -> list[Environment]:
    """Return every active environment that is ranked by score, by name."""
    return list(listed(Environment.objects.filter(seats=1, is_active=True), viewer).order_by("name"))


def _page(environment: Environment, filters: BoardFilter, offset: int, limit: int) -> BoardPage:
    on_board = standing(environment) if filters.as_of is None else stood(environment, filters.as_of)
    wanted = _filtered(on_board, filters)
    order = SORTS.get(filters.sort, SORTS[DEFAULT_SORT])
    # Starts one row earlier, because the first row is compared with the row above it.
    begin = max(0, offset - 1)
    ordered = wanted.order_by(*order).values_list("pk", flat=True)
    if filters.id_query or filters.user or filters.algorithm:
        # A text search reads every row of the board, so a separate count would read them all again.
        matching = list(ordered)
        keys, total = matching[begin : offset + limit], len(matching)
    else:
        keys, total = list(ordered[begin : offset + limit]), wanted.count()
    rows = Evaluation.objects.select_related("submission", "agent__owner").defer("log", "metrics", "error")
    found = rows.in_bulk(keys)
    ranks = _ranks(on_board, list(found.values()))
    # Evaluations that left the board between two of these queries are left out.
    listed = [found[key] for key in keys if key in ranks]
    above = {row.pk: before for before, row in pairwise(listed)}
    hidden = keys[: offset - begin]
    medals = _medals(on_board, ranks, listed)
    return BoardPage(
        tuple(_row(row, ranks[row.pk], medals[row.pk], above.get(row.pk)) for row in listed if row.pk not in hidden),
        total,
    )


def _filtered(rows: QuerySet[Evaluation], filters: BoardFilter) -> QuerySet[Evaluation]:
    """Apply a filter. Values that no row can have, such as a score of NaN, match no row."""
    lowest, highest = _as_float(filters.score_min), _as_float(filters.score_max)
    texts = (filters.id_query, filters.user, filters.algorithm)
    if not all(map(_is_storable, texts)) or any(bound is not None and math.isnan(bound) for bound in (lowest, highest)):
        return rows.none()
    if digits := filters.id_query.replace("-", ""):
        # Databases store ids with or without hyphens, and people copy them with or without.
        bare = Replace(Cast("public_id", TextField()), Value("-"), output_field=TextField())
        rows = rows.alias(digits=_of_submission(bare)).filter(digits__icontains=digits)
    if filters.user:
        user = Case(When(user_label="", then=F("agent__owner__username")), default=F("user_label"))
        rows = rows.alias(user=_of_submission(user)).filter(user__icontains=filters.user)
    if filters.algorithm:
        rows = rows.alias(algorithm=_of_submission(F("algorithm"))).filter(algorithm__icontains=filters.algorithm)
    conditions: dict[str, Any] = {
        "score__gte": lowest,
        "score__lte": highest,
        "created_at__gte": _midnight(filters.date_from),
        "created_at__lt": _midnight(None if filters.date_to in (None, date.max) else filters.date_to + ONE_DAY),
        "is_verified": filters.verified,
    }
    return rows.filter(**{name: value for name, value in conditions.items() if value is not None})


def _of_submission(expression: F | Func | Case) -> Subquery:
    """Return a value of each row's submission. With a join, PostgreSQL would search the rows of all environments."""
    own = Submission.objects.filter(pk=OuterRef("submission")).order_by()
    return Subquery(own.annotate(said=expression).values("said"))


def _is_storable(text: str) -> bool:
    """Return whether one of the searched columns could contain this text."""
    return len(text) <= LONGEST_TEXT and not UNSTORABLE.search(text)


def _as_float(number: float | None) -> float | None:
    """Convert a number, which may be an integer too large for a float."""
    if number is None:
        return None
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, 1 if number > 0 else -1)


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time_of_day(), UTC)


def _ranks(on_board: QuerySet[Evaluation], rows: Sequence[Evaluation]) -> dict[int, int]:
    """Return the rank of each row by its key: one query that reads the board down to the lowest of them."""
    if not rows:
        return {}
    lowest = min(map(_level, rows))
    rank = Window(Rank(), order_by=[F("is_verified").desc(), F("score").desc()])
    ranked = on_board.filter(_at_least(*lowest)).annotate(rank=rank).order_by()
    # No rank is 0. Filtering by keys alone would happen before ranking; together with the rank it happens after.
    return dict(ranked.filter(Q(pk__in=[row.pk for row in rows]) | Q(rank=0)).values_list("pk", "rank"))


def _medals(on_board: QuerySet[Evaluation], ranks: dict[int, int], rows: Sequence[Evaluation]) -> dict[int, str]:
    """Return the medal of each row by its key; a query for verified rows is made only where it matters."""
    earned = {row.pk: MEDALS.get(ranks[row.pk], "") for row in rows}
    reported = [row.pk for row in rows if not row.is_verified and earned[row.pk]]
    if reported and on_board.filter(is_verified__in=[True]).exists():
        earned |= dict.fromkeys(reported, "")
    return earned


def _level(row: Evaluation) -> Level:
    assert row.score is not None, "a constraint of the table"
    return row.is_verified, row.score


def _better(is_verified: bool, score: float) -> Q:
    """Match rows above a level. SQLite uses an index for "in", but not for a bare boolean."""
    higher = Q(is_verified__in=[is_verified], score__gt=score)
    return higher if is_verified else higher | Q(is_verified__in=[True])


def _at_least(is_verified: bool, score: float) -> Q:
    return _better(is_verified, score) | Q(is_verified__in=[is_verified], score=score)


LEVEL = ByKey(
    lambda key: Evaluation.objects.filter(pk=key, is_current=True).values_list("environment", "is_verified", "score")
)
STANDS = ByKey(lambda environment, key: standing(environment).filter(pk=key).order_by().values_list("pk"))


def _above(is_verified: bool) -> Lookup:
    """Return the lookup of the number of rows above a score in an environment; without a row, it is 0."""

    def rows(environment: int, score: float) -> QuerySet[Evaluation, Any]:
        better = standing(environment).filter(_better(is_verified, score)).order_by()
        return better.values("environment").values_list(Count("pk"))

    return Lookup(rows)


ABOVE = {is_verified: _above(is_verified) for is_verified in (True, False)}


def _rank(key: int) -> int | None:
    for environment, is_verified, score in LEVEL(key):
        if STANDS(environment, key):
            above = ABOVE[bool(is_verified)](environment, score)
            return 1 + (int(above[0][0]) if above else 0)
    return None


def _row(evaluation: Evaluation, rank: int, medal: str, above: Evaluation | None) -> BoardRow:
    submission = evaluation.submission
    return BoardRow(
        rank=rank,
        medal=medal,
        public_id=submission.public_id,
        agent=evaluation.agent.name,
        number=submission.number,
        owner=evaluation.agent.owner.username,
        user_label=submission.user_label,
        algorithm=submission.algorithm,
        score=_level(evaluation)[1],
        score_low=evaluation.score_low,
        score_high=evaluation.score_high,
        interquartile_mean=evaluation.interquartile_mean,
        median=evaluation.median,
        worst_decile=evaluation.worst_decile,
        seconds_per_move=evaluation.seconds_per_move,
        episode_count=evaluation.episode_count,
        is_verified=evaluation.is_verified,
        created_at=evaluation.created_at,
        evaluation_id=evaluation.pk,
        submission_id=submission.pk,
        difference=None if above is None else difference(evaluation, above),
    )
