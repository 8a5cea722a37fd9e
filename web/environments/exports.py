"""The rows of a leaderboard on all pages, as they stand in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from arena_kit.ranking.formats.ranking import SCORE_FIGURES
from core.evaluations.board import MOST_ROWS, BoardFilter, BoardRow, board_page
from core.models import Environment, Participant, RatingPoint
from web.ratings.board import version_record
from web.ratings.parts import RatingView
from web.site.exports import Row

RATING = {"rating": "value", "rating_low": "low", "rating_high": "high"} | {
    name: name for name in ("best_rank", "worst_rank", "best_chance", "match_count")
}
"""The columns of a rating in a file, with its fields."""
SCORED = (
    *("owner", "user_label", "algorithm", "is_verified", "score", "score_low", "score_high", "interquartile_mean"),
    *("median", "worst_decile", "seconds_per_move", "episode_count"),
)
"""The columns of a board of scores that have the name of their field."""


def table_records(rows: Iterable[tuple[Participant, RatingView | None]], *, plays_alone: bool = False) -> list[Row]:
    """Return the rows of an edition's table, with the field names of the API.

    plays_alone: whether its participants have scores in place of duels and ratings.
    """
    figures = SCORE_FIGURES if plays_alone else ("points", "wins", "draws", "losses", "total_score")
    return [
        {
            "rank": row.shown_rank,
            **version_record(row),
            **{name: getattr(row, name) for name in figures},
            **({} if plays_alone else {name: getattr(rating, RATING[name]) if rating else None for name in RATING}),
            "created_at": row.submission.created_at.isoformat(timespec="seconds"),
            "withdrawn_at": row.withdrawn_at.isoformat(timespec="seconds") if row.withdrawn_at else None,
            "is_baseline": row.is_baseline,
        }
        for row, rating in rows
    ]


def past_records(points: Iterable[RatingPoint]) -> list[Row]:
    """Return the rows of a leaderboard of the past."""
    return [
        {
            "rank": row.rank,
            **version_record(row),
            "live": row.live,
            "rating": row.value,
            "rating_low": row.low,
            "rating_high": row.high,
            "best_rank": row.best_rank,
            "worst_rank": row.worst_rank,
        }
        for row in points
    ]


def score_records(environment: Environment, wanted: BoardFilter, *, most: int | None = None) -> list[Row]:
    """Return the rows of a board of scores, with the field names of the API. most: how many of them, the best."""
    return [_board_record(row) for row in islice(_board_rows(environment, wanted), most)]


def _board_rows(environment: Environment, wanted: BoardFilter) -> Iterator[BoardRow]:
    offset = 0
    while True:
        page = board_page(environment, wanted, offset=offset, limit=MOST_ROWS)
        yield from page.rows
        offset += MOST_ROWS
        if offset >= page.total:
            return


def _board_record(row: BoardRow) -> Row:
    gap = row.difference
    return {
        "rank": row.rank,
        "agent": row.agent,
        "number": row.number,
        "submission": str(row.public_id),
        **{name: getattr(row, name) for name in SCORED},
        "difference": gap.value if gap else None,
        "difference_low": gap.low if gap else None,
        "difference_high": gap.high if gap else None,
        "created_at": row.created_at.isoformat(timespec="seconds"),
    }
