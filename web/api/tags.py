"""Gives answers of the API an ETag, so that a program that asks again gets 304 and no body where nothing changed."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.utils.decorators import decorator_from_middleware


class Tagging(ConditionalGetMiddleware):
    """Django's own, for answers alone: what is refused now may be there the next time."""

    def needs_etag(self, response: HttpResponseBase) -> bool:
        """Return whether an answer gets a tag."""
        return response.status_code == 200 and super().needs_etag(response)


tagged = decorator_from_middleware(Tagging)
"""Decorates a view."""
