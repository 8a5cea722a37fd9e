"""Answers to unknown addresses and to errors of the arena."""

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.defaults import server_error


def not_found(request: HttpRequest) -> HttpResponse:
    """Answer addresses that no other pattern matches, so that DEBUG does not change the 404 page."""
    raise Http404("The address is wrong, or the page no longer exists.")


def failed(request: HttpRequest) -> HttpResponse:
    """Answer after an error of the arena: a page for people, JSON for programs."""
    found = request.resolver_match
    # The compatible APIs have addresses that do not begin with /api/.
    if found is not None and found.namespace == "api":
        return JsonResponse({"detail": "The arena failed. The error is in its log."}, status=500)
    return server_error(request)
