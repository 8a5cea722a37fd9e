"""Seasons and their tables."""

from __future__ import annotations

from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.listing import season_rows
from core.models import Season
from core.tournaments.seasons import season_table
from web.api.base import Listed, Shown, one
from web.api.fields import AgentName


class SeasonAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    environment = serializers.CharField(source="environment.slug")
    name = serializers.CharField()
    begins_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()


class SeasonFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug", help_text="Slug of the environment.")

    class Meta:
        model = Season
        fields = ["environment"]


class SeasonList(Listed[Season]):
    """All seasons, newest first."""

    tag = "tournaments"
    queryset = season_rows()
    serializer_class = SeasonAnswer
    filterset_class = SeasonFilter
    ordering_fields = ("begins_at",)


class SeasonShown(Shown[Season]):
    """One season."""

    tag = "tournaments"
    queryset = season_rows()
    serializer_class = SeasonAnswer


class SeasonLine(serializers.Serializer[Any]):
    rank = serializers.IntegerField(help_text="Ties share: 1, 1, 3.")
    agent = AgentName()
    total = serializers.FloatField()
    points = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="In each of the tournaments; null where it did not take part.",
    )


class SeasonTableAnswer(serializers.Serializer[Any]):
    """Points: 1 per participant ranked below, ½ per other one at the same rank; none for agents that withdrew."""

    tournaments = serializers.SerializerMethodField(
        help_text="Ids of the tournaments that count: they have ended, with public results."
    )
    results = SeasonLine(source="rows", many=True)

    def get_tournaments(self, table: Any) -> list[int]:
        return [tournament.pk for tournament in table.tournaments]


class SeasonStanding(APIView):
    """The table of a season, summed up over its tournaments."""

    tag = "tournaments"

    @extend_schema(responses=SeasonTableAnswer)
    def get(self, request: Request, pk: int) -> Response:
        return Response(SeasonTableAnswer(season_table(one(season_rows(), pk=pk))).data)
