"""Downloads of leaderboards."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from core.models import Environment
from core.ratings.history import leaderboard_as_of
from core.tournaments.results import results_visible
from core.tournaments.tables import table_rows
from web.environments.exports import past_records, score_records, table_records
from web.evaluations.board_parts import BoardForm
from web.ratings.board import board_records
from web.ratings.parts import with_ratings
from web.site.exports import KINDS, exported
from web.site.forms import AsOfForm
from web.site.requests import whole_number
from web.site.tables import TableForm


def leaderboard(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """Send the leaderboard, or with ?edition=N the table of an edition, with the filter and order of its page."""
    row = get_object_or_404(Environment, slug=slug)
    if kind not in KINDS:
        raise Http404(f"Leaderboards can be downloaded as {' or '.join(KINDS)}.")
    name = f"{row.slug}-leaderboard-{timezone.now():%Y-%m-%d}"
    if row.is_scored and "edition" not in request.GET:
        records = score_records(row, BoardForm(request.GET).wanted)
        return exported(kind, name, records, environment=row.slug)
    if "as_of" in request.GET:
        return _past(row, AsOfForm(request.GET), kind, name)
    if "edition" not in request.GET:
        return exported(kind, name, board_records(row, request.GET), environment=row.slug)
    tournament = row.tournaments.filter(edition=whole_number(request.GET["edition"]) or 0).first()
    if tournament is None or not results_visible(tournament, request.user):
        raise Http404(f"{row} has no such table, or its results are withheld.")
    found = table_rows(tournament, TableForm(request.GET).wanted)
    if tournament.is_ranked_by_rating:
        # Its page lists no agents that have left.
        found = found.filter(withdrawn_at=None)
    records = table_records(with_ratings(found), plays_alone=tournament.plays_alone)
    return exported(
        kind, f"{row.slug}-edition-{tournament.edition}", records, environment=row.slug, edition=tournament.edition
    )


def _past(row: Environment, form: AsOfForm, kind: str, name: str) -> HttpResponse:
    """Send the last leaderboard that was stored before a moment."""
    found = leaderboard_as_of(row, form.moment) if form.moment else None
    if found is None:
        raise Http404(f"{row} had no stored leaderboard at that time, or the date is invalid.")
    return exported(
        kind,
        f"{row.slug}-leaderboard-{found.at:%Y-%m-%d}",
        past_records(found.points),
        environment=row.slug,
        as_of=found.at.isoformat(timespec="seconds"),
    )
