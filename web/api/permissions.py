"""The gate of courses for programs, whose tokens are read later than the middleware runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from web.site.gate import gate
from web.site.requests import viewer_of

if TYPE_CHECKING:
    # At run time this import would be circular: views load this class by the settings.
    from rest_framework.views import APIView


class CourseSeen(BasePermission):
    """Answers 404 for what belongs to a course that the account may not see."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return True. Raises Http404."""
        match = request._request.resolver_match
        if match is not None:
            gate(match, viewer_of(request))
        return True
