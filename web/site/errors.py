"""Answers to unknown addresses and to errors of the arena."""

import sys

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views.defaults import server_error

from core.errors import means_full_disk

FULL = "The arena's disk is full, so it could not store what you sent. Try again later."
FULL_RETRY_SECONDS = 600


def not_found(request: HttpRequest) -> HttpResponse:
    """Answer addresses that no other pattern matches, so that DEBUG does not change the 404 page."""
    raise Http404("The address is wrong, or the page no longer exists.")


def failed(request: HttpRequest) -> HttpResponse:
    """Answer after an error of the arena: a page for people, JSON for programs."""
    found = request.resolver_match
    is_full = means_full_disk(sys.exc_info()[1])
    # The compatible APIs have addresses that do not begin with /api/.
    if found is not None and found.namespace == "api":
        detail = FULL if is_full else "The arena failed. The error is in its log."
        response: HttpResponse = JsonResponse({"detail": detail}, status=503 if is_full else 500)
    elif is_full:
        # Without a context, which would ask the database.
        response = HttpResponse(loader.get_template("503.html").render({"sentence": FULL}), status=503)
    else:
        return server_error(request)
    if is_full:
        response.headers["Retry-After"] = str(FULL_RETRY_SECONDS)
    return response
