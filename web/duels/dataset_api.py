"""The API of match data: all rated matches of an environment as one file."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from django.http import Http404, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from arena_kit.environment.spec import BARE
from core.listing import environment_rows
from core.tournaments.datasets import dataset_chunks
from web.api.base import one
from web.site.throttling import AccountThrottle, DataSetThrottle, StrangerThrottle


class RulesQuery(serializers.Serializer[Any]):
    rules = serializers.RegexField(
        r"[a-z0-9-]{1,80}\Z", default="", help_text="The rules of the matches; left out, the newest, with openings."
    )


class EnvironmentMatches(APIView):
    """All rated matches by one version of an environment's rules, as lines of JSON.

    The first line is a header with the licence, the last one has the number of matches and the SHA-256 of all bytes
    before it. Left out are results that are withheld, void duels, and agents whose owners have not consented.
    """

    tag = "environments"
    throttle_classes = [StrangerThrottle, AccountThrottle, DataSetThrottle]

    @extend_schema(
        parameters=[RulesQuery],
        responses={
            (HTTPStatus.OK, "application/jsonl"): OpenApiTypes.BINARY,
            HTTPStatus.NOT_FOUND: OpenApiResponse(description="There is no such environment, or it has no such rules."),
        },
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        row = one(environment_rows(), slug=slug)
        query = RulesQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        rules = query.validated_data["rules"] or row.spec_id
        if not re.fullmatch(rf"{re.escape(slug)}-v[1-9]\d{{0,5}}({BARE})?", rules):
            raise Http404(f"These are no rules of {row}; its newest are {row.spec_id}.")
        headers = {"Content-Disposition": f'attachment; filename="{rules}-matches.jsonl"'}
        chunks = dataset_chunks(rules, now=timezone.now())
        return StreamingHttpResponse(chunks, content_type="application/jsonl", headers=headers)
