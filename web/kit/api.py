"""The API's description of the site, by which programs know that it is an arena and which API it speaks."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.version import arena_version
from web.kit.parts import wheel_path, wheel_served

SERVICE, API_VERSIONS = "rl-arena", ["v1"]


class SiteAnswer(serializers.Serializer[Any]):
    service = serializers.CharField(help_text="rl-arena at every arena.")
    name = serializers.CharField(help_text="What the organisers call their site.")
    version = serializers.CharField()
    api_versions = serializers.ListField(child=serializers.CharField(), help_text="Versions of the API it speaks.")
    kit_version = serializers.CharField(help_text="Version of the arena-kit that this site offers.")
    kit_url = serializers.URLField(help_text="Address of its wheel.")
    kit_sha256 = serializers.CharField()
    max_upload_bytes = serializers.IntegerField()


class SiteShown(APIView):
    """This site."""

    tag = "site"

    @extend_schema(responses=SiteAnswer)
    def get(self, request: Request) -> Response:
        """Name, version and limits of this arena, and the arena-kit that it offers."""
        served = wheel_served()
        answer = {
            "service": SERVICE,
            "name": settings.SITE_NAME,
            "version": arena_version(),
            "api_versions": API_VERSIONS,
            "kit_version": served.version,
            "kit_url": request.build_absolute_uri(wheel_path(served)),
            "kit_sha256": served.sha256,
            "max_upload_bytes": settings.MAX_UPLOAD_BYTES,
        }
        return Response(SiteAnswer(answer).data)
