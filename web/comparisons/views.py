"""The page that compares versions: two by their duels, up to four by their scores."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.evaluations.comparison import COMPARED, compare
from core.models import Environment
from core.tournaments.comparison import DuelComparison, duels_compare
from core.tournaments.results import Viewer
from web.comparisons.parts import Asked, asked, offered
from web.comparisons.score_parts import constants, distributions, pairs, side_by_side
from web.site.requests import viewer_of


def comparison(request: HttpRequest, slug: str) -> HttpResponse:
    """Compare the versions that `?id=…&id=…` names, each by its id, its agent's name, or name and number."""
    row = get_object_or_404(Environment, slug=slug)
    if row.is_scored:
        return scores_compared(request, row, asked(row, request.GET, COMPARED))
    if row.seats != 2:
        raise Http404(f"{row} is not played by two agents, so there are no duels to compare.")
    found = asked(row, request.GET, 2)
    context = {
        "environment": row,
        "asked": found,
        "offered": offered(row),
        "found": _compared(found, viewer_of(request)),
    }
    return render(request, "web/comparisons/duels.html", context)


def _compared(found: Asked, viewer: Viewer) -> DuelComparison | None:
    return duels_compare(*found.versions, viewer) if len(found.versions) == 2 else None


def scores_compared(request: HttpRequest, row: Environment, asked: Asked) -> HttpResponse:
    """Render the comparison of up to COMPARED submissions by their scores."""
    found = compare(row, [one.public_id for one in asked.versions])
    compared = side_by_side(found.evaluations)
    context = {
        "environment": row,
        "asked": asked,
        "offered": offered(row),
        "compared": compared,
        "ids": urlencode([("id", one.evaluation.submission.public_id) for one in compared]),
        "pairs": pairs(compared, found.differences),
        "chart": distributions(compared),
        "constants": constants(compared),
        "most": COMPARED,
        "missing": len(asked.versions) - len(compared),
    }
    return render(request, "web/evaluations/compare.html", context)
