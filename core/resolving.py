"""Finds the view of a path among all patterns, once for each path: that takes as long as many a small answer."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest
from django.urls import ResolverMatch, resolve

LONGEST_PATH, MOST_PATHS = 200, 4096
"""Characters of the longest path that is kept, as no page of ours has a longer one, and how many are kept."""


def resolved(path: str) -> ResolverMatch:
    """Return the view of a path and its arguments, which must not be changed; raise Resolver404 for a path without."""
    return (_kept if len(path) <= LONGEST_PATH else resolve)(path, settings.ROOT_URLCONF)


@lru_cache(maxsize=MOST_PATHS)
def _kept(path: str, urls: str) -> ResolverMatch:
    match = resolve(path, urls)
    # All patterns that did not fit.
    match.tried = None
    return match


class Handler(WSGIHandler):
    """Django's own, which would look through the patterns for each request."""

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        request.resolver_match = match = resolved(request.path_info)
        return match
