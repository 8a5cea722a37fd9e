"""The leaderboard of an environment with duels, as its page and its file show it."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import QueryDict
from django.utils import timezone

from core.models import Environment, Rating
from core.ratings.board import DAY, UNRATED_SHOWN, board_rows, changes_since, ranked, unrated_list
from core.ratings.tables import own_places
from core.tournaments.results import Viewer
from core.tournaments.selectors import rating_pool_get
from web.ratings.parts import RatingView, current_ratings
from web.site.exports import Row
from web.site.forms import AsOfForm
from web.site.requests import page_number
from web.site.tables import ROWS_A_PAGE, TableForm, own_elsewhere, table_body


def board_table(query: QueryDict, viewer: Viewer, environment: Environment, *, owner: int | None) -> dict[str, Any]:
    """Return one page of the leaderboard; its last page also lists the agents that are not rated yet.

    owner: the key of the viewer, if any agent is theirs.
    """
    form = TableForm(query, auto_id="table_%s")
    wanted = form.wanted
    table = Paginator(board_rows(environment, wanted), ROWS_A_PAGE).get_page(page_number(query))
    pool = rating_pool_get(environment)

    def context() -> dict[str, object]:
        rows = list(table.object_list)
        return {"rows": current_ratings(rows, changes_since(environment, rows, timezone.now() - DAY))}

    unrated = [] if wanted.is_filtered or table.has_next() else unrated_list(environment)
    return {
        "body": table_body(
            "web/ratings/leaderboard_rows.html",
            context,
            environment=environment,
            wanted=wanted,
            number=table.number,
            owner=owner,
            facts=[environment.pk, pool and pool.ledger_version, pool and pool.fitted_at],
        ),
        "unrated": unrated[:UNRATED_SHOWN],
        "unrated_more": max(0, len(unrated) - UNRATED_SHOWN),
        "pool": pool,
        "as_of": AsOfForm(),
        "table": table,
        "wanted": wanted,
        "filter": form,
        "own_elsewhere": owner
        and own_elsewhere(viewer, lambda person: own_places(ranked(environment), person), wanted, table),
    }


def board_records(environment: Environment, query: QueryDict) -> list[Row]:
    """Return all rows of the leaderboard that match the filter, with the field names of the API."""
    rows = list(board_rows(environment, TableForm(query).wanted))
    changes = changes_since(environment, rows, timezone.now() - DAY)
    return [_record(row, view) for row, view in current_ratings(rows, changes)]


def version_record(rating: Any) -> Row:
    """Return the columns that say which version a row is about. rating: any row with a submission."""
    submission = rating.submission
    agent = submission.agent
    return {
        "agent": agent.name,
        "number": submission.number,
        "submission": str(submission.public_id),
        "owner": agent.owner.username,
        "team": agent.owner.team,
    }


def _record(row: Rating, view: RatingView) -> Row:
    return {
        "rank": row.rank,
        **version_record(row),
        "rating": row.value,
        "rating_low": row.low,
        "rating_high": row.high,
        **{name: getattr(row, name) for name in ("best_rank", "worst_rank", "best_chance", "match_count", "live")},
        "change": view.change,
        "created_at": row.submission.created_at.isoformat(timespec="seconds"),
    }
