"""The API of evaluations and their episodes. It never shows hidden seeds, nor data from which they follow."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
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
from core.models import Evaluation, JobState, RecheckVerdict
from core.submissions.selectors import agent_source_visible
from core.submissions.visibility import episodes_visible, error_shown, jobs_visible, records_visible
from web.api.base import Listed, Shown, one
from web.api.fields import BriefField, JobFields, Version
from web.api.listing import Pages, RowFilter
from web.api.replays import ANSWERS, ReplayQuery, asked
from web.evaluations.views import CHOICES, get_recording, recording_response
from web.site.requests import viewer_of
from web.site.throttling import AccountThrottle, ReplayFileThrottle, StrangerThrottle

HIDDEN = "The actions would give away the hidden seeds. You can read them once the seeds are revealed."
HIDDEN_EPISODES = (
    "Results of single episodes are hidden as long as the seeds are. The evaluation shows their distribution."
)


class EvaluationAnswer(JobFields):
    """An evaluation. Scores are null until it has succeeded; the current evaluation places the agent on the board."""

    submission = Version()
    environment = serializers.CharField(source="environment.slug")
    environment_version = serializers.CharField()
    is_verified = serializers.BooleanField(help_text="Whether the arena itself ran the environment.")
    is_current = serializers.BooleanField()
    seeds_sha256 = serializers.CharField(source="seed_list.sha256", default=None, allow_null=True)
    episode_count = serializers.IntegerField()
    episodes_done = serializers.IntegerField(
        source="episodes_shown", help_text="Finished episodes; while the seeds are hidden, in tenths of all of them."
    )
    score = serializers.FloatField(allow_null=True)
    score_low = serializers.FloatField(allow_null=True, help_text="Lower end of the mean's 95% interval.")
    score_high = serializers.FloatField(allow_null=True)
    interquartile_mean = serializers.FloatField(allow_null=True)
    median = serializers.FloatField(allow_null=True)
    worst_decile = serializers.FloatField(allow_null=True)
    seconds_per_move = BriefField(allow_null=True)
    record_sha256 = serializers.CharField()
    player_digest = serializers.CharField(help_text="Digest of the image that played.")
    verdict = serializers.ChoiceField(
        choices=RecheckVerdict.choices, allow_blank=True, help_text="Result of playing the record again."
    )


class DistributionAnswer(serializers.Serializer[Any]):
    edges = serializers.ListField(
        child=serializers.FloatField(), help_text="Edges of bins of equal width, one more than there are counts."
    )
    counts = serializers.ListField(
        child=serializers.IntegerField(), help_text="Number of episodes with a score in each bin."
    )


class EvaluationFullAnswer(EvaluationAnswer):
    rank = serializers.SerializerMethodField(
        help_text="Rank on the board; null for an evaluation that is not on the board."
    )
    error = serializers.SerializerMethodField(help_text="Why the evaluation failed, as far as you may know.")
    metrics = serializers.JSONField(help_text="Other figures that a script reported.")
    runtime = serializers.CharField(help_text="Versions of the environment's packages.")
    distribution = serializers.SerializerMethodField(
        help_text="Distribution of the scores; null until the evaluation has succeeded."
    )
    order_secret = serializers.SerializerMethodField(
        help_text="Secret that sets the order of the episodes (docs/reference/referee.md); null while seeds are hidden."
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
    """Evaluations of versions that have worked, and those of the account, newest first."""

    tag = "evaluations"
    serializer_class = EvaluationAnswer
    filterset_class = EvaluationFilter
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[Evaluation]:
        return jobs_visible(evaluation_rows(), viewer_of(self.request))


class EvaluationShown(Shown[Evaluation]):
    """One evaluation."""

    tag = "evaluations"
    queryset = evaluation_rows()
    serializer_class = EvaluationFullAnswer


class EpisodeAnswer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    score = serializers.FloatField()
    length = serializers.IntegerField(help_text="Number of steps.")
    thinking_seconds = BriefField()
    seed = serializers.IntegerField(allow_null=True, help_text="null while the seed is hidden.")


class EpisodesAnswer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = EpisodeAnswer(many=True)


class EpisodeList(APIView):
    """The finished episodes of an evaluation, also while it runs; on hidden seeds only once these are public."""

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
    """A complete episode; the environment version's rules can play it again."""

    number = serializers.IntegerField()
    seed = serializers.IntegerField()
    score = serializers.FloatField()
    truncated = serializers.BooleanField(help_text="Whether a limit on steps ended the episode.")
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
