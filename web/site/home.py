from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse

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


def robots(request: HttpRequest) -> HttpResponse:
    """What programs that index pages are asked to leave alone: what only people with an account use."""
    closed = [reverse(f"web:{name}") for name in ("login", "sign_up", "inbox", "profile")]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in (*closed, reverse("admin:index"), "/api/"))]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
