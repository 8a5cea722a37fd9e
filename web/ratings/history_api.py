"""API of an agent's rating over time."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.listing import agent_rows
from core.ratings.history import rating_history
from web.api.base import one


class PointAnswer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    number = serializers.IntegerField(help_text="The agent's version at the time.")
    value = serializers.FloatField(help_text="Official rating.")
    low = serializers.FloatField(allow_null=True, help_text="Lower end of its 95% interval.")
    high = serializers.FloatField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True)


class HistoryAnswer(serializers.Serializer[Any]):
    points = PointAnswer(many=True, help_text="From the oldest on; of many, about 500. Empty where scores decide.")


class AgentHistory(APIView):
    """The ratings of an agent over time."""

    tag = "agents"

    @extend_schema(responses=HistoryAnswer)
    def get(self, request: Request, pk: int) -> Response:
        """The ratings of an agent over time, as its page draws them."""
        return Response(HistoryAnswer(rating_history(one(agent_rows(), pk=pk))).data)
