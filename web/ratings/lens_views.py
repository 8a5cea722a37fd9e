"""Pages of an environment's results: head to head, who beats whom, calibration."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import Environment
from core.ratings.lens_selectors import calibration_get, lens_get
from core.ratings.pairs import LENS_SIZE, SIZES, matrix_get
from web.ratings.lens_parts import STEPS, asked_size, heat_rows, reliability_plot


def head_to_head(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every agent against every other one as a heat map."""
    row, top = _with_duels(slug), asked_size(request.GET)
    matrix = matrix_get(row, top)
    context = {
        "environment": row,
        "section": "head_to_head",
        "matrix": matrix,
        "rows": heat_rows(matrix),
        "top": top,
        "sizes": SIZES,
        "steps": STEPS,
    }
    return render(request, "web/ratings/head_to_head.html", context)


def lens(request: HttpRequest, slug: str) -> HttpResponse:
    """Show circles of agents, and a second ranking beside the official one."""
    row = _with_duels(slug)
    context = {"environment": row, "section": "lens", "lens": lens_get(row), "most": LENS_SIZE}
    return render(request, "web/ratings/lens.html", context)


def calibration(request: HttpRequest, slug: str) -> HttpResponse:
    """Show predictions and actual results."""
    row = _with_duels(slug)
    found = calibration_get(row)
    context = {
        "environment": row,
        "section": "calibration",
        "found": found,
        "plot": reliability_plot(found) if found else None,
        "calibrated": sum(one.is_calibrated for one in found.bins) if found else 0,
    }
    return render(request, "web/ratings/calibration.html", context)


def _with_duels(slug: str) -> Environment:
    """Return an environment with two seats. Raises Http404."""
    row = get_object_or_404(Environment, slug=slug)
    if row.seats != 2:
        raise Http404(f"{row} is not played by two agents, so there are no pairs to compare.")
    return row
