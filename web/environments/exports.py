"""The rows of a leaderboard on all pages, as they stand in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.evaluations.board import MOST_ROWS, BoardFilter, BoardRow, board_page
from core.models import Environment, Participant, RatingPoint
from web.ratings.parts import RatingView
from web.site.exports import Row


def table_records(rows: Iterable[tuple[Participant, RatingView | None]]) -> list[Row]:
    """Return the rows of an edition's table, with the field names of the API."""
    return [
        {
            "rank": None if row.withdrawn_at else row.rank,
            "agent": row.submission.agent.name,
            "number": row.submission.number,
            "submission": str(row.submission.public_id),
            "owner": row.submission.agent.owner.username,
            "team": row.submission.agent.owner.team,
            "points": row.points,
            "wins": row.wins,
            "draws": row.draws,
            "losses": row.losses,
            "total_score": row.total_score,
            "rating": rating.value if rating else None,
            "rating_low": rating.low if rating else None,
            "rating_high": rating.high if rating else None,
            "best_rank": rating.best_rank if rating else None,
            "worst_rank": rating.worst_rank if rating else None,
            "best_chance": rating.best_chance if rating else None,
            "match_count": rating.match_count if rating else None,
            "created_at": row.submission.created_at.isoformat(timespec="seconds"),
            "withdrawn_at": row.withdrawn_at.isoformat(timespec="seconds") if row.withdrawn_at else None,
        }
        for row, rating in rows
    ]


def past_records(points: Iterable[RatingPoint]) -> list[Row]:
    """Return the rows of a leaderboard of the past."""
    return [
        {
            "rank": row.rank,
            "agent": row.submission.agent.name,
            "number": row.submission.number,
            "submission": str(row.submission.public_id),
            "owner": row.submission.agent.owner.username,
            "team": row.submission.agent.owner.team,
            "live": row.live,
            "rating": row.value,
            "rating_low": row.low,
            "rating_high": row.high,
            "best_rank": row.best_rank,
            "worst_rank": row.worst_rank,
        }
        for row in points
    ]


def board_records(environment: Environment, wanted: BoardFilter) -> list[Row]:
    """Return the rows of a board of scores, with the field names of the API."""
    return [_board_record(row) for row in _board_rows(environment, wanted)]


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
        "owner": row.owner,
        "user_label": row.user_label,
        "algorithm": row.algorithm,
        "is_verified": row.is_verified,
        "score": row.score,
        "score_low": row.score_low,
        "score_high": row.score_high,
        "interquartile_mean": row.interquartile_mean,
        "median": row.median,
        "worst_decile": row.worst_decile,
        "seconds_per_move": row.seconds_per_move,
        "episode_count": row.episode_count,
        "difference": gap.value if gap else None,
        "difference_low": gap.low if gap else None,
        "difference_high": gap.high if gap else None,
        "created_at": row.created_at.isoformat(timespec="seconds"),
    }
