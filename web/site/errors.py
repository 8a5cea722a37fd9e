"""Answers to unknown addresses and to errors of the arena."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.defaults import server_error

from core.errors import means_full_disk

FULL = "The arena's disk is full, so it could not store what you sent. Try again later."
AWAY = "The arena's database does not answer at the moment. Try again in a minute."


def not_found(request: HttpRequest) -> HttpResponse:
    """Answer addresses that no other pattern matches, so that DEBUG does not change the 404 page."""
    raise Http404("The address is wrong, or the page no longer exists.")


def failed(request: HttpRequest) -> HttpResponse:
    """Answer after an error of the arena: a page for people, JSON for programs.

    A full disk and a database that is away are answered with 503, and with when to try again.
    """
    found, error = request.resolver_match, sys.exc_info()[1]
    # The compatible APIs have addresses that do not begin with /api/; middleware may fail before the address is known.
    is_api = (found is not None and found.namespace == "api") or request.path_info.startswith("/api/")
    title, sentence, seconds = _passing(error)
    if is_api:
        detail = sentence or "The arena failed. The error is in its log."
        response: HttpResponse = JsonResponse({"detail": detail}, status=503 if sentence else 500)
    elif sentence:
        # Without a context, which would ask the database.
        page = loader.get_template("503.html").render({"title": title, "sentence": sentence})
        response = HttpResponse(page, status=503)
    else:
        return server_error(request)
    if sentence:
        response.headers["Retry-After"] = str(seconds)
        response.headers["Cache-Control"] = "no-store"
    return response


def _passing(error: BaseException | None) -> tuple[str, str, int]:
    """Return the title and the sentence for an error that passes, and after how many seconds to try again."""
    if means_full_disk(error):
        return "The disk is full", FULL, 600
    if isinstance(error, OperationalError | InterfaceError):
        return "One moment, please", AWAY, 30
    return "", "", 0
