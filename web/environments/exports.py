"""Leaderboards as CSV or JSON files, with the rows of all pages."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpResponse

from core.evaluations.board import MOST_ROWS, BoardFilter, BoardRow, board_page
from core.models import Environment, Participant, RatingPoint
from web.ratings.parts import RatingView

Row = Mapping[str, Any]
FORMULAS = frozenset("=+-@\t\r\n＝＋－＠")
"""First characters of cells that a spreadsheet would execute."""
SEPARATORS = frozenset(";|\t\r\n")
"""Characters after which a new cell begins in spreadsheets that do not split by commas."""
KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


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


def exported(kind: str, name: str, records: list[Row], **about: Any) -> HttpResponse:
    """Return a file to download. kind: of KINDS. name: without extension. about: metadata, included in JSON only."""
    if kind == "json":
        content = json.dumps({**about, "count": len(records), "results": records}, ensure_ascii=False, indent=1)
    else:
        content = csv_text(records)
    disposition = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return HttpResponse(content, content_type=KINDS[kind], headers=disposition)


def csv_text(records: list[Row]) -> str:
    """Return rows below a header line. No cell begins like a formula, because people open the file in spreadsheets."""
    written = io.StringIO()
    if records:
        lines = csv.writer(written)
        lines.writerow(records[0])
        lines.writerows([_harmless(value) for value in record.values()] for record in records)
    return written.getvalue()


def _harmless(value: Any) -> Any:
    """Put an apostrophe before everything that a spreadsheet could take for the start of a formula."""
    if not isinstance(value, str):
        return value
    kept: list[str] = []
    begins = True
    for letter in value:
        if begins and letter in FORMULAS:
            kept.append("'")
            begins = False
        kept.append(letter)
        # Spreadsheets strip spaces, invisible characters and quotes before they interpret a cell.
        begins = letter in SEPARATORS or (begins and (letter in ' "' or unicodedata.category(letter) in ("Zs", "Cf")))
    return "".join(kept)


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
