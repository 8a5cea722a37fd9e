"""Evaluations and their episodes. Hidden seeds never come out of here, nor what tells of them."""

from __future__ import annotations

from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.evaluations.board import board_rank
from core.evaluations.episodes import episode_get, episode_list, score_distribution
from core.listing import evaluation_rows
from core.models import Evaluation, JobState, Verdict
from core.submissions.selectors import agent_source_visible
from core.submissions.visibility import episodes_visible, error_shown, records_visible
from web.api.authentication import viewer_of
from web.api.fields import BriefField, JobFields, Version
from web.api.listing import Pages, RowFilter
from web.api.views import Listed, Shown, one

HIDDEN = "The actions would tell the hidden seeds. They can be read once these are revealed."
HIDDEN_EPISODES = (
    "Results of single episodes are hidden as long as the seeds are. The evaluation itself tells their distribution."
)


class EvaluationAnswer(JobFields):
    """score and the rest: null until it has succeeded. is_current: the agent stands on the board with it."""

    submission = Version()
    environment = serializers.CharField(source="environment.slug")
    environment_version = serializers.CharField()
    is_verified = serializers.BooleanField(help_text="The arena itself held the environment.")
    is_current = serializers.BooleanField()
    seeds_sha256 = serializers.CharField(source="seed_list.sha256", default=None, allow_null=True)
    episode_count = serializers.IntegerField()
    episodes_done = serializers.IntegerField()
    score = serializers.FloatField(allow_null=True)
    score_low = serializers.FloatField(allow_null=True, help_text="Of the mean's 95% interval.")
    score_high = serializers.FloatField(allow_null=True)
    interquartile_mean = serializers.FloatField(allow_null=True)
    median = serializers.FloatField(allow_null=True)
    worst_decile = serializers.FloatField(allow_null=True)
    seconds_per_move = BriefField(allow_null=True)
    record_sha256 = serializers.CharField()
    player_digest = serializers.CharField(help_text="Content id of the image that played.")
    verdict = serializers.ChoiceField(
        choices=Verdict.choices, allow_blank=True, help_text="What came of playing its record again."
    )


class DistributionAnswer(serializers.Serializer[Any]):
    edges = serializers.ListField(child=serializers.FloatField(), help_text="Of equal bins, one more than counts.")
    counts = serializers.ListField(child=serializers.IntegerField(), help_text="Episodes with a score in each bin.")


class EvaluationFullAnswer(EvaluationAnswer):
    rank = serializers.SerializerMethodField(help_text="On the board, null when it does not stand there.")
    error = serializers.SerializerMethodField(help_text="Why it failed, as far as you may know.")
    metrics = serializers.JSONField(help_text="What a script reported beside its score.")
    runtime = serializers.CharField(help_text="Versions of the environment's packages.")
    distribution = serializers.SerializerMethodField(help_text="Of the scores; null before it has succeeded.")
    order_secret = serializers.SerializerMethodField(
        help_text="The order of the episodes follows from it (docs/reference/referee.md); null while seeds are hidden."
    )

    def get_rank(self, row: Evaluation) -> int | None:
        return board_rank(row)

    @extend_schema_field(DistributionAnswer(allow_null=True))
    def get_distribution(self, row: Evaluation) -> Any:
        found = score_distribution(row)
        return None if found is None else DistributionAnswer(found).data

    def get_order_secret(self, row: Evaluation) -> str | None:
        is_shown = row.is_verified and episodes_visible(row, viewer_of(self.context["request"]))
        return row.order_secret if is_shown else None

    def get_error(self, row: Evaluation) -> str:
        viewer = viewer_of(self.context["request"])
        return error_shown(row, viewer, can_see_source=agent_source_visible(row.submission.agent, viewer))


class EvaluationFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug", help_text="Slug of the environment.")
    submission = filters.UUIDFilter(field_name="submission__public_id")
    agent = RowFilter(field_name="agent_id")
    state = filters.ChoiceFilter(choices=JobState.choices)
    is_verified = filters.BooleanFilter()
    is_current = filters.BooleanFilter()

    class Meta:
        model = Evaluation
        fields = ["environment", "submission", "agent", "state", "is_verified", "is_current"]


class EvaluationList(Listed[Evaluation]):
    """All evaluations, newest first."""

    tag = "evaluations"
    queryset = evaluation_rows()
    serializer_class = EvaluationAnswer
    filterset_class = EvaluationFilter
    ordering_fields = ("created_at",)


class EvaluationShown(Shown[Evaluation]):
    """One evaluation."""

    tag = "evaluations"
    queryset = evaluation_rows()
    serializer_class = EvaluationFullAnswer


class EpisodeAnswer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    score = serializers.FloatField()
    length = serializers.IntegerField(help_text="Steps.")
    thinking_seconds = BriefField()
    seed = serializers.IntegerField(allow_null=True, help_text="null while it is hidden.")


class EpisodesAnswer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = EpisodeAnswer(many=True)


class EpisodeList(APIView):
    """The finished episodes of an evaluation, while it runs, too; on hidden seeds once these are public."""

    tag = "evaluations"

    @extend_schema(
        responses={200: EpisodesAnswer, 403: OpenApiResponse(description=HIDDEN_EPISODES)},
        parameters=[
            OpenApiParameter("page", int, description=Pages.page_query_description),
            OpenApiParameter("page_size", int, description=Pages.page_size_query_description),
        ],
    )
    def get(self, request: Request, pk: int) -> Response:
        row = one(evaluation_rows(), pk=pk)
        if not episodes_visible(row, viewer_of(request)):
            raise PermissionDenied(HIDDEN_EPISODES)
        pages = Pages()
        page = pages.paginate_queryset(episode_list(row), request, view=self)
        return pages.get_paginated_response(EpisodeAnswer(page, many=True).data)


class EpisodeFullAnswer(serializers.Serializer[Any]):
    """An episode, complete: with the rules of its version it can be played again."""

    number = serializers.IntegerField()
    seed = serializers.IntegerField()
    score = serializers.FloatField()
    truncated = serializers.BooleanField(help_text="Whether a limit of steps ended it.")
    length = serializers.IntegerField()
    actions = serializers.JSONField(help_text="Whole numbers, or lists of numbers where an action is an array.")


class EpisodeShown(APIView):
    """One episode with its actions, once its seed is public."""

    tag = "evaluations"

    @extend_schema(responses={200: EpisodeFullAnswer, 403: OpenApiResponse(description=HIDDEN)})
    def get(self, request: Request, pk: int, number: int) -> Response:
        row = one(evaluation_rows(), pk=pk)
        if not records_visible(row, viewer_of(request)):
            raise PermissionDenied(HIDDEN)
        return Response(EpisodeFullAnswer(episode_get(row, number)).data)
