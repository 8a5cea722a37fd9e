"""API of replays as files."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from core.models import Duel, Validation
from web.api.replays import ANSWERS, ReplayQuery, asked
from web.site.played import get_duel, get_validation
from web.site.replays import match_response
from web.site.throttling import AccountThrottle, ReplayFileThrottle, StrangerThrottle


class Replayed(APIView):
    """The base of replays of duels and of validations."""

    tag = "duels"
    throttle_classes = [StrangerThrottle, AccountThrottle, ReplayFileThrottle]

    def send(self, request: Request, row: Duel | Validation, number: int) -> HttpResponseBase:
        """Answer with the file. Raises ValidationError and NotStored."""
        form, options, compress = asked(request)
        return match_response(request._request, row, number, form, options, compress=compress)


class MatchReplay(Replayed):
    """A match of a duel as a file, with all its states."""

    @extend_schema(responses=ANSWERS, parameters=[ReplayQuery])
    def get(self, request: Request, pk: int, number: int) -> HttpResponseBase:
        return self.send(request, get_duel(request, pk), number)


class ValidationReplay(Replayed):
    """A match of a submission against itself as a file, for accounts that may see its logs."""

    @extend_schema(responses=ANSWERS, parameters=[ReplayQuery])
    def get(self, request: Request, pk: int, number: int) -> HttpResponseBase:
        return self.send(request, get_validation(request, pk), number)
