"""Gives answers of the API an ETag, so that a program that asks again gets 304 and no body where nothing changed."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware


class Tagged(ConditionalGetMiddleware):
    """Django's own middleware, for addresses of the API alone."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the answer with its ETag, or 304."""
        is_api = request.resolver_match is not None and "api" in request.resolver_match.namespaces
        return super().process_response(request, response) if is_api else response
