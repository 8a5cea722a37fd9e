"""Downloads of leaderboards."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from core.models import Environment, Tournament, TournamentState
from core.ratings.history import leaderboard_as_of
from core.tournaments.results import results_visible
from core.tournaments.selectors import tournament_latest
from core.tournaments.tables import table_rows
from web.environments.exports import board_records, past_records, table_records
from web.evaluations.board_parts import BoardForm
from web.ratings.parts import with_ratings
from web.site.exports import KINDS, exported
from web.site.forms import AsOfForm
from web.site.requests import whole_number
from web.tournaments.table_parts import TableForm


def leaderboard(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """Send the rows that the environment's page, or that of ?edition=N, shows, with the same filter and order."""
    row = get_object_or_404(Environment, slug=slug)
    if kind not in KINDS:
        raise Http404(f"Leaderboards can be downloaded as {' or '.join(KINDS)}.")
    name = f"{row.slug}-leaderboard-{timezone.now():%Y-%m-%d}"
    if row.is_scored:
        records = board_records(row, BoardForm(request.GET).wanted)
        return exported(kind, name, records, environment=row.slug)
    if "as_of" in request.GET:
        return _past(row, AsOfForm(request.GET), kind, name)
    newest = tournament_latest(row)
    tournament = _edition(row, request.GET["edition"]) if "edition" in request.GET else newest
    if tournament is None or not results_visible(tournament, request.user):
        raise Http404(f"{row} has no such table, or its results are withheld.")
    is_newest = tournament == newest
    found = table_rows(tournament, TableForm(request.GET).wanted, is_newest=is_newest)
    if tournament.is_ladder:
        # Like its page: the current participants and ratings, or those at the end of a ladder that has ended.
        is_newest = tournament.state == TournamentState.RUNNING
        found = table_rows(tournament, TableForm(request.GET).wanted, is_newest=is_newest).filter(withdrawn_at=None)
    records = table_records(with_ratings(found, is_newest=is_newest))
    return exported(kind, name, records, environment=row.slug, edition=tournament.edition)


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


def _edition(environment: Environment, word: str) -> Tournament | None:
    return environment.tournaments.filter(edition=whole_number(word) or 0).first()
