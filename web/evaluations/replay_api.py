"""API of replays of recorded episodes as files."""

from __future__ import annotations

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from core.listing import evaluation_rows
from web.api.base import one
from web.api.replays import ANSWERS, ReplayQuery, asked
from web.evaluations.replay_views import get_recording, recording_response
from web.evaluations.views import CHOICES
from web.site.requests import viewer_of
from web.site.throttling import AccountThrottle, ReplayFileThrottle, StrangerThrottle


class RecordingReplay(APIView):
    """A recorded episode as a file. While seeds are hidden, only episodes of practice are recorded."""

    tag = "evaluations"
    throttle_classes = [StrangerThrottle, AccountThrottle, ReplayFileThrottle]

    @extend_schema(
        responses={code: answer for code, answer in ANSWERS.items() if code != 403},
        parameters=[ReplayQuery, OpenApiParameter("choice", str, OpenApiParameter.PATH, enum=CHOICES)],
    )
    def get(self, request: Request, pk: int, choice: str) -> HttpResponseBase:
        found = get_recording(one(evaluation_rows(), pk=pk), choice, viewer_of(request))
        form, options, compress = asked(request)
        return recording_response(request._request, found, form, options, compress=compress)
