"""The page of what is played now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import conditional_page

from core.duels.featured import featured_get
from core.watching.wall import PLAYING
from web.watching.parts import wall_part


@conditional_page
def watch(request: HttpRequest) -> HttpResponse:
    """Show what is played now: tournaments, duels and the latest results; for htmx only the part that changes."""
    part = wall_part()
    if request.headers.get("HX-Target") == "wall":
        return HttpResponse(part)
    films = [] if PLAYING() else featured_get().films
    return render(request, "web/watching/watch.html", {"part": part, "films": films})
