"""The API that returns why an upload would be refused, without an upload."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from core.submissions.findings import Unfinished, upload_findings
from web.api.base import Acting, checked
from web.site.throttling import AccountThrottle, StrangerThrottle, ValidateThrottle
from web.submissions.api import UploadRequest, environment_named


class Busy(APIException):
    """The inspection could not finish now."""

    status_code = 503
    default_code = "busy"

    def __init__(self, trouble: Unfinished) -> None:
        super().__init__(str(trouble))
        self.wait = trouble.retry_after_seconds


class ValidateRequest(UploadRequest):
    """A zip as `archive`, or single `files`, as they would be uploaded to an environment."""

    algorithm = None  # type: ignore[assignment]  # it has no field for the files
    environment = serializers.CharField(max_length=100, help_text="Slug or env_id of the environment.")


class FindingAnswer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Typed reason.")
    message = serializers.CharField(help_text="A sentence that says what to do.")
    file = serializers.CharField(help_text="The file it is about; empty if it is about the whole.")
    line = serializers.IntegerField(allow_null=True)


class FindingsAnswer(serializers.Serializer[Any]):
    valid = serializers.BooleanField(help_text="Whether an upload would be accepted.")
    errors = FindingAnswer(  # type: ignore[assignment]  # the field hides the errors of a serializer that reads
        many=True, help_text="What it would be refused for; it names the first one."
    )
    warnings = FindingAnswer(many=True, help_text="What often goes wrong. Nothing is refused for a warning.")


class Validate(Acting):
    """The verdict on files, without an upload."""

    tag = "submissions"
    parser_classes = [MultiPartParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, ValidateThrottle]

    @extend_schema(
        request={"multipart/form-data": ValidateRequest},
        responses={200: FindingsAnswer, 503: OpenApiResponse(description="The arena is busy. Try again later.")},
    )
    def post(self, request: Request) -> Response:
        """Say what an upload would be refused for. Nothing is stored, nothing runs, and no quota is used."""
        owner = self.account(request)
        form = checked(ValidateRequest, request)
        try:
            found = upload_findings(
                archive=form["archive"], environment=environment_named(form["environment"], owner), owner=owner
            )
        except Unfinished as trouble:
            raise Busy(trouble) from None
        return Response(found.as_json())
