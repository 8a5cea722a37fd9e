"""The API of the positions in which versions of an agent gave something away."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from core.submissions.blunders import blunders_may_see, blunders_shown, blunders_visible
from web.api.base import one
from web.site.requests import account_of, viewer_of
from web.submissions.api import VisibleAgents


class BlunderAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="row.pk")
    version = serializers.IntegerField(source="row.submission.number", help_text="Number of the version that played.")
    duel = serializers.IntegerField(source="row.duel_id")
    match = serializers.IntegerField(source="row.match_number")
    ply = serializers.IntegerField(source="row.ply", help_text="Steps of the match before the position.")
    environment_version = serializers.CharField(source="row.environment_version")
    seed = serializers.IntegerField(source="row.seed")
    actions = serializers.ListField(
        source="row.actions", child=serializers.IntegerField(), help_text="All actions before the position."
    )
    seat = serializers.IntegerField(source="row.seat", help_text="Who is to move, from 0.")
    played = serializers.IntegerField(source="row.played")
    holding = serializers.ListField(
        source="row.holding",
        child=serializers.IntegerField(),
        help_text="The actions that keep the value; empty where playouts have found the position.",
    )
    losing = serializers.ListField(
        source="row.losing",
        child=serializers.IntegerField(),
        help_text="The actions that give something away. What is in neither list is not solved.",
    )
    before = serializers.FloatField(
        source="row.before", allow_null=True, help_text="Share here: 1 for a win, 0.5 for a draw; null for a threat."
    )
    after = serializers.FloatField(source="row.after", help_text="Share after the move that was played.")
    steps = serializers.IntegerField(
        source="row.steps",
        allow_null=True,
        help_text="Of a threat that was overlooked: the steps after which the other side wins at the latest.",
    )
    sentence = serializers.CharField()
    text = serializers.CharField(help_text="The board as text.")
    found_by = serializers.ListField(child=serializers.IntegerField(), help_text="Versions that keep the value.")
    missed_by = serializers.ListField(child=serializers.IntegerField(), help_text="Versions that do not.")


class AgentBlunders(VisibleAgents):
    """The blunders of an agent."""

    tag = "agents"

    @extend_schema(
        responses={200: BlunderAnswer(many=True), 403: OpenApiResponse(description="The agent is not yours.")}
    )
    def get(self, request: Request, pk: int) -> Response:
        """The positions in which versions of your agent gave something away, the newest first, at most 100.

        Each new version is asked for its move in them: a list of regressions.
        """
        agent, viewer = one(self.get_queryset(), pk=pk), viewer_of(request)
        if account_of(request) is None:
            raise NotAuthenticated
        if not blunders_may_see(agent, viewer):
            raise PermissionDenied("Only the owner of an agent sees its positions.")
        return Response(BlunderAnswer(blunders_shown(list(blunders_visible(agent, viewer))), many=True).data)
