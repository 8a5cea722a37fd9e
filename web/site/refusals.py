"""Pages that say why something cannot be shown."""

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
from core.tournaments.results import HeldBack

Arguments = ParamSpec("Arguments")


def status_of(missing: NotStored) -> int:
    """409 for what may still come, 410 for what is not kept any longer, 403 for what is held back, 404 for the rest."""
    match missing:
        case HeldBack():
            return 403
        case NotPlayed():
            return 409
        case NotKept():
            return 410
    return 404


def explained(
    view: Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase]:
    """Turn NotStored into a page with its sentence, also where Django would show its own debugging page."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotStored as missing:
            return notice(request, missing)

    return wrapper


def notice(request: HttpRequest, missing: NotStored) -> HttpResponse:
    """The page that says what is missing, with the way back."""
    arguments = request.resolver_match.kwargs if request.resolver_match else {}
    kind = next((kind for kind in ("duel", "evaluation") if f"{kind}_id" in arguments), "")
    if isinstance(missing, HeldBack):
        kind = ""  # the page of the duel is held back as well
    context = {
        "title": "Nothing to see yet" if isinstance(missing, NotPlayed | HeldBack) else "This cannot be shown",
        "sentence": str(missing),
        "back": reverse(f"web:{kind}", args=[arguments[f"{kind}_id"]]) if kind else "",
        "kind": kind,
    }
    return render(request, "web/site/refusal.html", context, status=status_of(missing))


def said(request: HttpRequest, news: str, change: Callable[[], object]) -> None:
    """Make a change, and tell on the next page that it was made, or why it is refused."""
    try:
        change()
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, news)
