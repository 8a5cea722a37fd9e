"""Finds the view of a path among all patterns, and checks a host, once for each: both take as long as small answers."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import HttpRequest
from django.urls import ResolverMatch, resolve

LONGEST_PATH, MOST_PATHS = 200, 4096
"""Characters of the longest path that is kept, as no page of ours has a longer one, and how many are kept."""
MOST_HOSTS = 64
_allowed: set[str] = set()


def resolved(path: str) -> ResolverMatch:
    """Return the view of a path and its arguments, which must not be changed; raise Resolver404 for a path without."""
    return (_kept if len(path) <= LONGEST_PATH else resolve)(path, settings.ROOT_URLCONF)


@lru_cache(maxsize=MOST_PATHS)
def _kept(path: str, urls: str) -> ResolverMatch:
    match = resolve(path, urls)
    # All patterns that did not fit.
    match.tried = None
    return match


class Request(WSGIRequest):
    """Django's own, which would compare its host with ALLOWED_HOSTS several times."""

    def get_host(self) -> str:
        given: str = self.META.get("HTTP_HOST", "")
        if given in _allowed:
            return given
        host = super().get_host()
        if host == given and len(_allowed) < MOST_HOSTS:
            _allowed.add(host)
        return host


class Handler(WSGIHandler):
    """Django's own, which would look through the patterns for each request."""

    request_class = Request

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        request.resolver_match = match = resolved(request.path_info)
        return match
