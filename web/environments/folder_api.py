"""The API that sends the folder of an environment, so that participants play it at home by the same rules."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from arena_kit.environment.folder import environment_zip
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from core.duels.selectors import NotStored
from core.listing import environment_rows
from web.api.base import one
from web.site.throttling import AccountThrottle, PackedThrottle, StrangerThrottle

GONE = "This arena no longer has the rules of this environment."


class EnvironmentFolder(APIView):
    """The rules, pictures and `info.yml` of an environment as a zip, without hidden files, links and tests."""

    tag = "environments"
    throttle_classes = [StrangerThrottle, AccountThrottle, PackedThrottle]

    @extend_schema(
        responses={
            (HTTPStatus.OK, "application/zip"): OpenApiTypes.BINARY,
            HTTPStatus.NOT_FOUND: OpenApiResponse(description=GONE),
        }
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        row = one(environment_rows(), slug=slug)
        try:
            content = environment_zip(get_spec(row.slug))
        except (UnknownEnvironment, OSError):
            raise NotStored(GONE) from None
        headers = {"Content-Disposition": f'attachment; filename="{row.slug}.zip"'}
        return HttpResponse(content, content_type="application/zip", headers=headers)
