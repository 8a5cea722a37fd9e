"""Environments and their boards."""

from __future__ import annotations

from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.models import Environment, SeedList
from core.selectors.board import board_page
from core.selectors.evaluations import practice_list, ranking_list
from core.selectors.listing import environment_rows
from web.api.compatible.forms import BoardQuery, read_board_query
from web.api.native.views import Listed, Shown, one


class EnvironmentAnswer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    env_id = serializers.CharField(help_text="Its name for clients of older systems.")
    version = serializers.CharField(source="spec_id", help_text="Of the rules that new duels are played with.")
    name = serializers.CharField()
    description = serializers.CharField(help_text="Markdown.")
    seats = serializers.IntegerField()
    is_active = serializers.BooleanField(help_text="Whether it takes uploads.")
    is_scored = serializers.BooleanField(help_text="Ranked by score, not by duels.")
    takes_scripts = serializers.BooleanField()
    matches_per_duel = serializers.IntegerField()
    episodes_per_evaluation = serializers.IntegerField()
    cpu_count = serializers.FloatField()
    memory_limit_bytes = serializers.IntegerField()
    move_seconds = serializers.FloatField()
    bank_seconds = serializers.FloatField()
    start_seconds = serializers.FloatField()


class EnvironmentFilter(filters.FilterSet):
    seats = filters.NumberFilter(min_value=1, max_value=64)
    is_active = filters.BooleanFilter()

    class Meta:
        model = Environment
        fields = ["seats", "is_active"]


class EnvironmentList(Listed[Environment]):
    """All environments, by name."""

    tag = "environments"
    queryset = environment_rows()
    serializer_class = EnvironmentAnswer
    filterset_class = EnvironmentFilter
    ordering_fields = ("name", "slug")


class EnvironmentShown(Shown[Environment]):
    """One environment."""

    tag = "environments"
    queryset = environment_rows()
    serializer_class = EnvironmentAnswer
    lookup_field = "slug"


class SeedsAnswer(serializers.Serializer[Any]):
    """A list of seeds; `sha256` binds the arena to those that nobody may know yet."""

    id = serializers.IntegerField()
    purpose = serializers.CharField()
    seed_count = serializers.SerializerMethodField()
    sha256 = serializers.CharField(help_text="Of the seeds as decimal numbers, each ended by a line feed.")
    seeds = serializers.SerializerMethodField(help_text="null while they are hidden.")
    revealed_at = serializers.DateTimeField(allow_null=True)

    def get_seed_count(self, row: SeedList) -> int:
        return len(row.seeds)

    def get_seeds(self, row: SeedList) -> list[int] | None:
        return list(row.seeds) if row.is_public else None


class EnvironmentSeeds(APIView):
    """The seeds of practice, and those that the board is ranked by now."""

    tag = "environments"

    @extend_schema(responses=SeedsAnswer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        row = one(environment_rows(), slug=slug)
        lists = [found for found in (practice_list(row), ranking_list(row)) if found is not None]
        return Response(SeedsAnswer(lists, many=True).data)


class Difference(serializers.Serializer[Any]):
    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class BoardRowAnswer(serializers.Serializer[Any]):
    """rank, medal: in the whole board. Scores with the 95% interval of their mean."""

    rank = serializers.IntegerField()
    medal = serializers.CharField(allow_blank=True)
    submission = serializers.UUIDField(source="public_id")
    evaluation = serializers.IntegerField(source="evaluation_id")
    agent = serializers.CharField()
    number = serializers.IntegerField(help_text="Version of the agent.")
    owner = serializers.CharField()
    user_label = serializers.CharField(allow_blank=True, help_text="Who an anonymous client says it is.")
    algorithm = serializers.CharField(allow_blank=True)
    is_verified = serializers.BooleanField()
    score = serializers.FloatField()
    score_low = serializers.FloatField(allow_null=True)
    score_high = serializers.FloatField(allow_null=True)
    interquartile_mean = serializers.FloatField(allow_null=True)
    median = serializers.FloatField(allow_null=True)
    worst_decile = serializers.FloatField(allow_null=True)
    seconds_per_move = serializers.FloatField(allow_null=True)
    episode_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    difference = Difference(allow_null=True, help_text="To the row above, on common seeds.")


class BoardAnswer(serializers.Serializer[Any]):
    count = serializers.IntegerField(source="total", help_text="Rows that the filter lets through.")
    results = BoardRowAnswer(source="rows", many=True)


class NativeBoardQuery(BoardQuery):
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000, help_text="Rows to leave out.")


class EnvironmentBoard(APIView):
    """Who stands where in an environment that is ranked by score; at most a second old."""

    tag = "environments"

    @extend_schema(parameters=[NativeBoardQuery], responses=BoardAnswer)
    def get(self, request: Request, slug: str) -> Response:
        row = one(environment_rows(), slug=slug)
        if not row.is_scored:
            raise ValidationError({"detail": f"{row} is ranked by duels: see /api/v1/tournaments/."})
        filters, limit, offset = read_board_query(request, NativeBoardQuery)
        return Response(BoardAnswer(board_page(row, filters, offset=offset, limit=limit)).data)
