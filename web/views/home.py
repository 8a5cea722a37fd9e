from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.selectors.tournaments import environment_cards


def home(request: HttpRequest) -> HttpResponse:
    """All environments."""
    return render(request, "web/home.html", {"cards": environment_cards()})
