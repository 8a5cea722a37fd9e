"""Pages and messages with the reason why something cannot be shown or done."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from core.duels.selectors import NotKept, NotPlayed, NotStored
from core.errors import Refused
from core.tournaments.results import Withheld

Arguments = ParamSpec("Arguments")


def status_of(missing: NotStored) -> int:
    """Return the HTTP status: 409 if it may still come, 410 if it is no longer kept, 403 if withheld, else 404."""
    match missing:
        case Withheld():
            return 403
        case NotPlayed():
            return 409
        case NotKept():
            return 410
    return 404


def explained(
    view: Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase]:
    """Decorate a view to turn NotStored into a page with its sentence, with DEBUG on too."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotStored as missing:
            return notice(request, missing)

    return wrapper


def notice(request: HttpRequest, missing: NotStored) -> HttpResponse:
    """Render the page that names what is missing, with a link back."""
    arguments = request.resolver_match.kwargs if request.resolver_match else {}
    kind = next((kind for kind in ("duel", "evaluation") if f"{kind}_id" in arguments), "")
    if isinstance(missing, Withheld):
        kind = ""  # the page of the duel is withheld too
    context = {
        "title": "Not available yet" if isinstance(missing, NotPlayed | Withheld) else "This cannot be shown",
        "sentence": str(missing),
        "back": reverse(f"web:{kind}", args=[arguments[f"{kind}_id"]]) if kind else "",
        "kind": kind,
    }
    return render(request, "web/site/refusal.html", context, status=status_of(missing))


def said(request: HttpRequest, sentence: str, change: Callable[[], object]) -> None:
    """Make a change, and show on the next page that it was made or why it was refused."""
    try:
        change()
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, sentence)
