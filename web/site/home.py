from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static

from core.tournaments.selectors import environment_cards


def home(request: HttpRequest) -> HttpResponse:
    """All environments: games that agents play against each other, and tasks that they do alone."""
    cards = environment_cards()
    context = {
        "cards": cards,
        "games": [card for card in cards if not card.environment.is_scored],
        "tasks": [card for card in cards if card.environment.is_scored],
    }
    return render(request, "web/site/home.html", context)


def icon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for the picture of a page that names none, e.g. a document of the API."""
    return redirect(static("web/icon.svg"))
