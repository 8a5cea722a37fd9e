"""API of replays as files."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from arena_kit.environment.replay_file.document import MAX_FRAMES, ReplayOptions
from core.duels.replays import ReplayForm
from core.models import Duel, Validation
from core.submissions.selectors import agent_source_visible
from web.api.authentication import viewer_of
from web.api.views import one
from web.duels.api import HELD_BACK, NOT_PLAYED, shown_duel
from web.duels.replay_views import match_response
from web.site.throttling import AccountThrottle, ReplayFileThrottle, StrangerThrottle

FILE = "The replay as an attachment. docs/reference/replay-files.md describes the JSON document."
ANSWERS: dict[Any, Any] = {
    (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT, FILE),
    (200, "application/gzip"): OpenApiResponse(OpenApiTypes.BINARY, FILE),
    (200, "text/html"): OpenApiResponse(OpenApiTypes.STR, FILE),
    304: OpenApiResponse(description="It is the file that If-None-Match names."),
    403: HELD_BACK,
    409: NOT_PLAYED,
}


class ReplayQuery(serializers.Serializer[Any]):
    format = serializers.ChoiceField(
        choices=[form.value for form in ReplayForm], default=ReplayForm.JSON.value, help_text="The form of the file."
    )
    include_observations = serializers.BooleanField(default=True, help_text="What each seat saw. JSON only.")
    include_actions = serializers.BooleanField(default=True, help_text="What each seat played. JSON only.")
    max_frames = serializers.IntegerField(
        default=MAX_FRAMES, min_value=1, max_value=MAX_FRAMES, help_text="The first states only. JSON only."
    )
    gzip = serializers.BooleanField(default=False, help_text="Compress the file. JSON only.")


def asked(request: Request) -> tuple[ReplayForm, ReplayOptions, bool]:
    """Return the form that a request asks for, what the document holds, and whether to compress it.

    Raises ValidationError.
    """
    query = ReplayQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    wanted = query.validated_data
    options = ReplayOptions(wanted["include_observations"], wanted["include_actions"], wanted["max_frames"])
    return ReplayForm(wanted["format"]), options, wanted["gzip"]


class Replayed(APIView):
    """What replays of duels and of validations share."""

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
        return self.send(request, shown_duel(request, pk), number)


class ValidationReplay(Replayed):
    """A match of a submission against itself as a file, for accounts that may see its logs."""

    @extend_schema(responses=ANSWERS, parameters=[ReplayQuery])
    def get(self, request: Request, pk: int, number: int) -> HttpResponseBase:
        row = one(
            Validation.objects.select_related("submission__agent__owner", "submission__agent__environment"), pk=pk
        )
        if not agent_source_visible(row.submission.agent, viewer_of(request)):
            raise Http404("There is no such validation.")
        return self.send(request, row, number)
