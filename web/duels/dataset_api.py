"""The API of match data: all rated matches of an environment as one file."""

from __future__ import annotations

from http import HTTPStatus

from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from core.listing import environment_rows
from core.tournaments.datasets import dataset_chunks
from web.api.base import one
from web.site.throttling import AccountThrottle, DataSetThrottle, StrangerThrottle


class EnvironmentMatches(APIView):
    """All rated matches by the newest rules of an environment, as lines of JSON.

    The first line is a header with the licence, the last one has the number of matches and the SHA-256 of all bytes
    before it. Left out are results that are withheld, void duels, and agents whose owners have not consented.
    """

    tag = "environments"
    throttle_classes = [StrangerThrottle, AccountThrottle, DataSetThrottle]

    @extend_schema(
        responses={
            (HTTPStatus.OK, "application/jsonl"): OpenApiTypes.BINARY,
            HTTPStatus.NOT_FOUND: OpenApiResponse(description="There is no such environment."),
        }
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        row = one(environment_rows(), slug=slug)
        headers = {"Content-Disposition": f'attachment; filename="{row.spec_id}-matches.jsonl"'}
        chunks = dataset_chunks(row.spec_id, now=timezone.now())
        return StreamingHttpResponse(chunks, content_type="application/jsonl", headers=headers)
