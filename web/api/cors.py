"""Lets pages of other origins, such as the front ends of the older systems, call the API with a token."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404
from django.utils.cache import patch_vary_headers

from core.resolving import resolved

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
ASKED_HEADERS = "authorization, content-type, if-none-match"
SHOWN_HEADERS = "ETag, Link, Location, Retry-After"
KEEP_SECONDS = "600"


class OtherOrigins:
    """Answers the origins of CORS_ORIGINS as browsers want it; not used without any. Cookies never come with them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.CORS_ORIGINS:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _is_api(request.path_info):
            return self._get_response(request)
        origin, is_any = request.headers.get("Origin", ""), "*" in settings.CORS_ORIGINS
        is_asked = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        response = HttpResponse(status=204) if is_asked else self._get_response(request)
        patch_vary_headers(response, ["Origin"])
        if origin and (is_any or origin in settings.CORS_ORIGINS):
            response["Access-Control-Allow-Origin"] = "*" if is_any else origin
            response["Access-Control-Expose-Headers"] = SHOWN_HEADERS
            if is_asked:
                response["Access-Control-Allow-Methods"] = METHODS
                response["Access-Control-Allow-Headers"] = ASKED_HEADERS
                response["Access-Control-Max-Age"] = KEEP_SECONDS
        return response


def _is_api(path: str) -> bool:
    try:
        return "api" in resolved(path).namespaces
    except Resolver404:
        return False
