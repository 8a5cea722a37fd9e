"""Replays as files in the API: the parameters of a request, and its answers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request

from arena_kit.environment.replay_file.document import MAX_FRAMES, ReplayOptions
from core.duels.replays import ReplayForm

WITHHELD = OpenApiResponse(description="The results are withheld from you.")
NOT_PLAYED = OpenApiResponse(description="The duel has not been played, or could not be played.")
FILE = "The replay as an attachment. docs/reference/replay-files.md describes the JSON document."
ANSWERS: dict[Any, Any] = {
    (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT, FILE),
    (200, "application/gzip"): OpenApiResponse(OpenApiTypes.BINARY, FILE),
    (200, "text/html"): OpenApiResponse(OpenApiTypes.STR, FILE),
    304: OpenApiResponse(description="It is the file that If-None-Match names."),
    403: WITHHELD,
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
