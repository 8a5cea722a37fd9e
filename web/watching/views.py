"""The page of what is played now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import conditional_page

from core.watching.wall import PLAYING
from web.site.home import watched
from web.watching.parts import wall_part


@conditional_page
def watch(request: HttpRequest) -> HttpResponse:
    """Show what is played now: tournaments, duels and the latest results; for htmx only the part that changes.

    Between duels it shows a film, which is up to WATCHED_SECONDS old.
    """
    part = wall_part()
    if request.headers.get("HX-Target") == "wall":
        return HttpResponse(part)
    film = "" if PLAYING() else watched().film
    return render(request, "web/watching/watch.html", {"part": part, "film": film})
