"""A page that cites a leaderboard or a comparison as it stood at a moment, and the results behind it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from core.evaluations.comparison import COMPARED
from core.models import Environment
from core.tournaments.cited import cited_results
from web.comparisons.parts import asked
from web.environments.cite_parts import Cited, board_then, cited
from web.site.exports import exported
from web.site.forms import AsOfForm

DAY = timedelta(days=1)


def cite(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how to cite a leaderboard, or with several `id=…` a comparison; without a moment, that of yesterday."""
    row = _environment(slug)
    if not request.GET.get("as_of"):
        query = request.GET.copy()
        query["as_of"] = _usual(row)
        return redirect(f"{request.path}?{query.urlencode(safe=':')}")
    form = AsOfForm(request.GET)
    context = {"environment": row, "as_of": form, "cited": _cited(request, row, form.moment)}
    context["ids"] = request.GET.getlist("id")[: _most(row)]
    return render(request, "web/environments/cite.html", context, status=200 if form.is_valid() else 400)


def cite_results(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the results that counted at a moment."""
    row, moment = _environment(slug), AsOfForm(request.GET).moment
    if moment is None:
        raise Http404("The address names no valid moment, as in ?as_of=2026-05-31.")
    of = asked(row, request.GET, _most(row)).versions
    return exported("csv", f"{row.slug}-results", cited_results(row, moment, of=of))


def _cited(request: HttpRequest, row: Environment, moment: datetime | None) -> Cited | None:
    versions = asked(row, request.GET, _most(row)).versions if row.is_scored or row.seats == 2 else ()
    return None if moment is None else cited(row, moment, request.GET["as_of"].strip(), versions)


def _environment(slug: str) -> Environment:
    row = get_object_or_404(Environment, slug=slug)
    if row.is_app:
        raise Http404(f"{row} is an application, whose board changes with its tasks.")
    return row


def _most(row: Environment) -> int:
    """Return how many versions can be compared."""
    return COMPARED if row.is_scored else 2


def _usual(row: Environment) -> str:
    """Return yesterday, which no later result changes, or this second before the first board of a past day."""
    now = timezone.now().astimezone(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return f"{now - DAY:%Y-%m-%d}" if board_then(row, midnight) else f"{now:%Y-%m-%dT%H:%M:%S}"
