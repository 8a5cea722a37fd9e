"""The page of what is played now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from web.watching.parts import wall_part


def watch(request: HttpRequest) -> HttpResponse:
    """Show what is played now: tournaments, duels and the latest results; for htmx only the part that changes."""
    part = wall_part()
    if request.headers.get("HX-Target") == "wall":
        return HttpResponse(part)
    return render(request, "web/watching/watch.html", {"part": part})
