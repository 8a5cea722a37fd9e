"""The home page, and the icon and robots.txt that browsers and crawlers request."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse

from core.tournaments.cards import environment_cards


def home(request: HttpRequest) -> HttpResponse:
    """Show all environments: games between agents, tasks for one agent, and whole applications."""
    cards = environment_cards()
    context = {
        "cards": cards,
        "games": [card for card in cards if not card.environment.is_scored],
        "tasks": [card for card in cards if card.environment.is_scored and not card.environment.is_app],
        "applications": [card for card in cards if card.environment.is_app],
    }
    return render(request, "web/site/home.html", context)


def icon(request: HttpRequest) -> HttpResponse:
    """Redirect /favicon.ico, which browsers request for pages that name no icon, to the icon."""
    return redirect(static("web/icon.svg"))


def robots(request: HttpRequest) -> HttpResponse:
    """Ask crawlers to skip pages that only people with an account use, the API, and logs."""
    closed = [reverse(f"web:{name}") for name in ("login", "sign_up", "inbox", "profile")]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in (*closed, reverse("admin:index"), "/api/", "/*/logs/"))]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
