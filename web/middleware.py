"""What every answer of the site has in common."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.defaults import page_not_found

Next = Callable[[HttpRequest], HttpResponseBase]

# Frames of matches are pictures made on the spot: data: and blob:. Nothing else comes from anywhere but here.
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class SitePages:
    """Sets the content security policy, and shows the arena's own 404 page where Django would show its debug page.

    An arena for oneself runs with DEBUG on, and its pages should say the same sentences.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return page_not_found(request, exception) if isinstance(exception, Http404) else None
