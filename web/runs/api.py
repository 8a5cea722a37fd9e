"""API of runs: unrated duels, and evaluations that count for nothing, that programs ask for. They see their own."""

from __future__ import annotations

import uuid
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.duels.run_requests import MOST_MATCHES, MOST_SECONDS, MOST_SEED, RunPlayer, RunRequest
from core.duels.run_selectors import run_environment, run_job, run_result, run_rows, run_state
from core.duels.runs import run_cancel, run_start
from core.duels.selectors import file_get, records_shown
from core.models import Duel, Run
from core.submissions.selectors import agent_source_visible
from web.api.base import Acting, Listed, Polled, Shown, checked, one, refusals
from web.api.fields import JOB_STATES
from web.site.files import ZIP, attachment
from web.site.throttling import AccountThrottle, ResultsThrottle, StrangerThrottle


class RunPlayerRequest(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Your id for the player, which the result repeats.")
    version = serializers.CharField(
        help_text="submission:ID, agent:ID, or an image that this arena has, by its digest or by the name with which "
        "it was submitted."
    )
    words = serializers.CharField(default="", help_text="Your words for the version; kept and returned.")
    metadata = serializers.DictField(child=serializers.CharField(allow_blank=True), default=dict)


class RunRequested(serializers.Serializer[Any]):
    key = serializers.CharField(default="", help_text="Your id for the run: asked for twice, it is played once.")
    environment = serializers.CharField(help_text="Slug or id.")
    players = RunPlayerRequest(many=True, help_text="Two, or one in an environment with one seat.")
    seconds = serializers.IntegerField(
        default=0, min_value=0, max_value=MOST_SECONDS, help_text="Its time, waiting included; 0 means five minutes."
    )
    match_count = serializers.IntegerField(default=1, min_value=1, max_value=MOST_MATCHES)
    seed = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=MOST_SEED - 1)


class RunSideAnswer(serializers.Serializer[Any]):
    name = serializers.CharField()
    score = serializers.FloatField()
    wins = serializers.IntegerField()
    forfeits = serializers.IntegerField(source="errors", help_text="Matches that it forfeited.")
    error = serializers.CharField(help_text="Why it forfeited the first of them.")
    words = serializers.CharField(source="label")
    metadata = serializers.DictField(child=serializers.CharField())


class ResultAnswer(serializers.Serializer[Any]):
    winner = serializers.CharField(help_text="The name of the winner; empty for a draw.")
    sides = RunSideAnswer(many=True)
    draws = serializers.IntegerField()
    steps = serializers.IntegerField(help_text="Steps of the environment in all matches, openings included.")
    seconds = serializers.FloatField()


class RunLine(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    key = serializers.CharField()
    environment = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()
    is_timed_out = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()
    match_count = serializers.SerializerMethodField()
    matches_done = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    duel = serializers.SerializerMethodField(help_text="Id of its duel; null for an evaluation.")

    def get_environment(self, run: Run) -> str:
        return run_environment(run).slug

    @extend_schema_field(serializers.ChoiceField(choices=JOB_STATES))
    def get_state(self, run: Run) -> str:
        return run_state(run_job(run)).state

    def get_is_timed_out(self, run: Run) -> bool:
        return run_state(run_job(run)).is_timed_out

    def get_error(self, run: Run) -> str:
        return run_state(run_job(run)).error

    def get_match_count(self, run: Run) -> int:
        return run_state(run_job(run)).match_count

    def get_matches_done(self, run: Run) -> int:
        return run_state(run_job(run)).matches_done

    def get_duel(self, run: Run) -> int | None:
        job = run_job(run)
        return job.pk if isinstance(job, Duel) else None


class RunAnswer(RunLine):
    result = serializers.SerializerMethodField(help_text="Null until it has been played.")

    @extend_schema_field(ResultAnswer(allow_null=True))
    def get_result(self, run: Run) -> Any:
        result = run_result(run)
        return None if result is None else ResultAnswer(result).data


class RunFilter(filters.FilterSet):
    key = filters.CharFilter(help_text="Your id for the run.")

    class Meta:
        model = Run
        fields = ["key"]


class Own(Acting):
    """The runs of the account that asks."""

    tag = "runs"

    def get_queryset(self) -> QuerySet[Run]:
        # The description of the API is made without an account.
        if getattr(self, "swagger_fake_view", False):
            return Run.objects.none()
        return run_rows(self.account(self.request))


class RunList(Polled, Own, Listed[Run]):
    """Your runs, newest first, without their results."""

    serializer_class = RunLine
    filterset_class = RunFilter

    @extend_schema(request=RunRequested, responses={201: RunAnswer, 200: RunAnswer})
    def post(self, request: Request) -> Response:
        """Put a run in line. The same key with the same content is the run that is there already (200)."""
        account = self.account(request)
        form = checked(RunRequested, request)
        players = tuple(
            RunPlayer(each["name"], each["version"], each["words"], tuple(sorted(each["metadata"].items())))
            for each in form.pop("players")
        )
        asked = RunRequest(**{**form, "key": form["key"] or uuid.uuid4().hex}, players=players)
        with refusals():
            run, is_new = run_start(caller=account, request=asked, now=timezone.now())
        return Response(RunAnswer(run_rows(account).get(pk=run.pk)).data, status=201 if is_new else 200)


class RunShown(Polled, Own, Shown[Run]):
    """One of your runs, with its result once it has been played."""

    serializer_class = RunAnswer


class RunCancel(Own):
    """Cancelling a run."""

    @extend_schema(request=None, responses={200: RunAnswer})
    def post(self, request: Request, pk: int) -> Response:
        """Cancel one of your runs; one that is over keeps its result."""
        run_cancel(run=one(self.get_queryset(), pk=pk))
        return Response(RunAnswer(self.get_queryset().get(pk=pk)).data)


class RunRecords(Own):
    """The file of records of a run."""

    throttle_classes = [StrangerThrottle, AccountThrottle, ResultsThrottle]

    @extend_schema(
        responses={
            (HTTPStatus.OK, ZIP): OpenApiTypes.BINARY,
            HTTPStatus.NOT_FOUND: OpenApiResponse(description="You have no such run."),
        }
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        """Send the records. Tracebacks of other people's agents are left out, because they quote source code."""
        account = self.account(request)
        job = run_job(one(self.get_queryset(), pk=pk))
        if not isinstance(job, Duel):
            # Its seeds are public, and its player belongs to the caller.
            return attachment(file_get(job.records, "These records are"), f"run-{pk}-records.zip", ZIP)
        file = records_shown(job, lambda agent: agent_source_visible(agent, account))
        return attachment(file, f"run-{pk}-records.zip", ZIP)
