"""The API of environments, their seeds and their leaderboards."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.ranking.scores import Interval
from core.evaluations.board import board_page
from core.evaluations.selectors import practice_list, ranking_list
from core.listing import environment_rows, rating_rows
from core.models import Environment
from core.ratings.history import leaderboard_as_of
from core.tournaments.selectors import rating_pool_get
from web.api.base import Listed, Shown, one
from web.api.compatible.queries import BoardQuery, read_board_query
from web.api.fields import AS_OF, MomentText, SeedsAnswer, Version


class EnvironmentAnswer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    env_id = serializers.CharField(help_text="Id of the environment for clients of older systems.")
    version = serializers.CharField(source="spec_id", help_text="Version of the rules that new duels use.")
    name = serializers.CharField()
    description = serializers.CharField(help_text="Markdown.")
    seats = serializers.IntegerField()
    is_active = serializers.BooleanField(help_text="Whether the environment accepts uploads.")
    is_available = serializers.BooleanField(
        help_text="Whether this arena can play the environment; if not, it refuses uploads."
    )
    is_scored = serializers.BooleanField(help_text="Whether agents are ranked by score, not by duels.")
    takes_scripts = serializers.BooleanField(source="runs_scripts")
    takes_players = serializers.BooleanField()
    is_added = serializers.BooleanField(help_text="Whether a submission added it.")
    matches_per_duel = serializers.IntegerField()
    episodes_per_evaluation = serializers.IntegerField()
    cpu_count = serializers.FloatField()
    memory_limit_bytes = serializers.IntegerField()
    gpu_count = serializers.IntegerField(help_text="Graphics cards of each player.")
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
    """All environments, ordered by name."""

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


class EnvironmentSeeds(APIView):
    """The practice seeds, and the seeds that rank the board now."""

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
    """A row of a board. `rank` and `medal` count the whole board; scores have the 95% interval of their mean."""

    rank = serializers.IntegerField()
    medal = serializers.CharField(allow_blank=True)
    submission = serializers.UUIDField(source="public_id")
    evaluation = serializers.IntegerField(source="evaluation_id")
    agent = serializers.CharField()
    number = serializers.IntegerField(help_text="Number of the version.")
    owner = serializers.CharField()
    user_label = serializers.CharField(allow_blank=True, help_text="Name that an anonymous client gave.")
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
    difference = Difference(allow_null=True, help_text="Mean difference from the row above on common seeds.")


class BoardAnswer(serializers.Serializer[Any]):
    count = serializers.IntegerField(source="total", help_text="Number of rows that match the filter.")
    results = BoardRowAnswer(source="rows", many=True)


class NativeBoardQuery(BoardQuery):
    as_of = MomentText(default=None, help_text=AS_OF)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000, help_text="Number of rows to skip.")


class LeaderboardQuery(serializers.Serializer[Any]):
    as_of = MomentText(default=None, help_text=AS_OF)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=100, help_text="Number of rows, 1 to 100.")
    offset = serializers.IntegerField(default=0, min_value=0, max_value=1_000_000, help_text="Number of rows to skip.")


class LeaderboardRow(serializers.Serializer[Any]):
    rank = serializers.IntegerField(
        allow_null=True, help_text="Ties share a rank: 1, 1, 3. null where no rank was saved."
    )
    best_rank = serializers.IntegerField(allow_null=True, help_text="Best rank that is plausible for the version.")
    worst_rank = serializers.IntegerField(allow_null=True, help_text="Worst rank that is plausible for the version.")
    submission = Version()
    value = serializers.FloatField(help_text="Strength on the Elo scale, fitted to all rated matches.")
    low = serializers.FloatField(allow_null=True, help_text="Lower end of the 95% interval.")
    high = serializers.FloatField(allow_null=True, help_text="Upper end of the 95% interval.")
    live = serializers.FloatField(allow_null=True, help_text="Live rating (Elo).")


class LeaderboardAnswer(serializers.Serializer[Any]):
    """A leaderboard. `is_connected` and `first_seat` come from the last fit and are null in past leaderboards."""

    at = serializers.DateTimeField(
        allow_null=True, help_text="Time of the fit; null if no leaderboard had been saved by then."
    )
    is_connected = serializers.BooleanField(
        allow_null=True,
        help_text="Whether chains of opponents link all agents; if not, ratings between unlinked groups are guesses.",
    )
    first_seat = Difference(allow_null=True, help_text="Points that going first is worth, with the 95% interval.")
    count = serializers.IntegerField(help_text="Number of agents on the leaderboard.")
    results = LeaderboardRow(many=True)


class EnvironmentLeaderboard(APIView):
    """The leaderboard by ratings of an environment with duels, now or as it was saved by a given time."""

    tag = "environments"

    @extend_schema(parameters=[LeaderboardQuery], responses=LeaderboardAnswer)
    def get(self, request: Request, slug: str) -> Response:
        row = one(environment_rows(), slug=slug)
        if row.is_scored:
            raise ValidationError({"detail": f"{row} is ranked by score: see /api/v1/environments/{slug}/board/."})
        query = LeaderboardQuery(data={name: value for name, value in request.query_params.items() if value})
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        shown = slice(asked["offset"], asked["offset"] + asked["limit"])
        answer = (
            _leaderboard_now(row, shown) if asked["as_of"] is None else _leaderboard_then(row, asked["as_of"], shown)
        )
        return Response(LeaderboardAnswer(answer).data)


def _leaderboard_now(environment: Environment, shown: slice) -> dict[str, Any]:
    pool = rating_pool_get(environment)
    rows = rating_rows().filter(submission__agent__environment=environment, rank__isnull=False).order_by("rank", "pk")
    return {
        "at": pool and pool.fitted_at,
        "is_connected": pool and pool.is_connected,
        "first_seat": pool and Interval(pool.first_seat, pool.first_seat_low, pool.first_seat_high),
        "count": rows.count(),
        "results": rows[shown],
    }


def _leaderboard_then(environment: Environment, moment: datetime, shown: slice) -> dict[str, Any]:
    found = leaderboard_as_of(environment, moment)
    points = found.points if found else ()
    at = found.at if found else None
    return {"at": at, "is_connected": None, "first_seat": None, "count": len(points), "results": points[shown]}


class EnvironmentBoard(APIView):
    """The board of an environment that is ranked by score; at most one second old."""

    tag = "environments"

    @extend_schema(parameters=[NativeBoardQuery], responses=BoardAnswer)
    def get(self, request: Request, slug: str) -> Response:
        row = one(environment_rows(), slug=slug)
        if not row.is_scored:
            raise ValidationError(
                {"detail": f"{row} is ranked by duels: see /api/v1/environments/{slug}/leaderboard/."}
            )
        filters, limit, offset = read_board_query(request, NativeBoardQuery)
        return Response(BoardAnswer(board_page(row, filters, offset=offset, limit=limit)).data)
