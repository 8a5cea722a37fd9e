"""The native API of batches: rollouts that are asked for together."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from arena_kit.rollout.numbers.attempts import SetFigure
from core.courses.sight import seen
from core.models import AuditEntry, Batch, BatchPurpose, Environment
from core.people.acting import acting
from core.rollouts.batches import AgentChoice, Options, batch_cancel, batch_create
from core.rollouts.choosing import agent_chosen
from core.rollouts.exports import batch_trajectories
from core.rollouts.figures import batch_figures
from core.rollouts.permissions import may_change_batch
from core.rollouts.selectors import batch_phases, batch_rollouts, batch_rows, tasks_current, tasks_named
from web.api.base import Acting, Listed, Polled, Shown, checked, one, refusals
from web.rollouts.events import EVENT_SCHEMA, event, events_response
from web.site.requests import viewer_of
from web.site.throttling import AccountThrottle, ResultsThrottle, StrangerThrottle

PATH = OpenApiParameter("public_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
LONGEST_NAME = 300
"""Maximum length of the name of a task, ID@USERNAME."""
NO_APPLICATION = OpenApiResponse(description="There is no such application.")


class FigureAnswer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.SerializerMethodField()
    high = serializers.SerializerMethodField()
    tasks = serializers.IntegerField()
    left_out = serializers.IntegerField(help_text="Tasks with too few attempts.")

    def get_low(self, row: SetFigure) -> float | None:
        return row.interval.low if row.interval is not None else None

    def get_high(self, row: SetFigure) -> float | None:
        return row.interval.high if row.interval is not None else None


class BatchAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="public_id")
    environment = serializers.CharField(source="environment.slug")
    package = serializers.IntegerField(source="package.number")
    owner = serializers.CharField(source="owner.username")
    purpose = serializers.ChoiceField(choices=BatchPurpose.choices)
    agent_kind = serializers.CharField()
    agent = serializers.CharField(source="agent_name")
    model = serializers.CharField(source="model.name", default=None, allow_null=True)
    attempts = serializers.IntegerField()
    note = serializers.CharField()
    rollout_count = serializers.IntegerField()
    running_count = serializers.IntegerField()
    over_count = serializers.IntegerField()
    solved_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class BatchFullAnswer(BatchAnswer):
    any_of = serializers.SerializerMethodField(help_text="pass@k by k.")
    all_of = serializers.SerializerMethodField(help_text="pass^k by k.")
    summary = serializers.SerializerMethodField(help_text="Costs, steps, how rollouts ended.")
    often = serializers.SerializerMethodField(help_text="By the name of a task: always, sometimes or never solved.")

    _figures: Any = None

    def to_representation(self, instance: Batch) -> dict[str, Any]:
        self._figures = batch_figures(batch_rollouts(instance, viewer_of(self.context["request"])))
        return super().to_representation(instance)

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_any_of(self, row: Batch) -> dict[str, Any]:
        return {str(k): FigureAnswer(each).data for k, each in self._figures.any_of.items()}

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_all_of(self, row: Batch) -> dict[str, Any]:
        return {str(k): FigureAnswer(each).data for k, each in self._figures.all_of.items()}

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_summary(self, row: Batch) -> dict[str, Any]:
        found = self._figures.summary
        return {name: getattr(found, name) for name in found.__slots__}

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_often(self, row: Batch) -> dict[str, str]:
        return {key: each.value for key, each in self._figures.often.items()}


class NewBatch(serializers.Serializer[Any]):
    environment = serializers.SlugField()
    tasks = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME),
        required=False,
        max_length=2_000,
        help_text="Ids, or ID@USERNAME of a member's task; all tasks without it.",
    )
    agent = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="A language model, agent:NAME, agent:NAME@MODEL, oracle or nothing.",
    )
    attempts = serializers.IntegerField(default=1, min_value=1, max_value=50)
    vision = serializers.BooleanField(default=False)
    temperature = serializers.FloatField(required=False, allow_null=True, default=None, min_value=0, max_value=2)
    prompt = serializers.CharField(default="", allow_blank=True, max_length=4_000)
    limits = serializers.DictField(child=serializers.IntegerField(min_value=1), default=dict)
    priority = serializers.IntegerField(default=0)
    note = serializers.CharField(default="", allow_blank=True, max_length=200)


class BatchFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug")
    owner = filters.CharFilter(field_name="owner__username")

    class Meta:
        model = Batch
        fields = ["environment", "owner"]


class BatchList(Acting, Listed[Batch]):
    """Batches, newest first. POST lets an agent work at tasks."""

    tag = "rollouts"
    serializer_class = BatchAnswer
    filterset_class = BatchFilter

    def get_queryset(self) -> QuerySet[Batch]:
        return batch_rows(viewer_of(self.request))

    @extend_schema(request=NewBatch, responses={201: BatchAnswer, 404: NO_APPLICATION})
    def post(self, request: Request) -> Response:
        """Make a batch of rollouts."""
        account, sent = self.account(request), checked(NewBatch, request)
        environment = one(seen(Environment.objects.filter(kind="APP"), viewer_of(request)), slug=sent["environment"])
        names = sent.get("tasks", ())
        named = tasks_named(account, names, environment)
        lost = sorted(set(names) - set(named))
        if lost:
            raise serializers.ValidationError({"tasks": [f"There is no task {lost[0]} that you may see."]})
        # Two names may mean one task.
        tasks = list(dict.fromkeys(named.values()) if "tasks" in sent else tasks_current(account, environment))
        config = {name: sent[name] for name in ("vision", "temperature", "prompt")}
        options = Options(sent["attempts"], sent["limits"], sent["priority"], sent["note"])
        with refusals():
            agent: AgentChoice = agent_chosen(owner=account, environment=environment, word=sent["agent"], **config)
            batch = batch_create(owner=account, environment=environment, tasks=tasks, agent=agent, options=options)
        return Response(BatchAnswer(batch_rows(account).get(pk=batch.pk)).data, status=201)


class BatchShown(Polled, Shown[Batch]):
    """One batch with its figures."""

    tag = "rollouts"
    serializer_class = BatchFullAnswer
    lookup_field = "public_id"

    def get_queryset(self) -> QuerySet[Batch]:
        return batch_rows(viewer_of(self.request))


@extend_schema(parameters=[PATH])
class BatchCancel(Acting):
    """Cancel the rollouts of a batch that are not over."""

    tag = "rollouts"

    @extend_schema(request=None, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, public_id: UUID) -> Response:
        """Cancel; the answer says how many rollouts."""
        account = self.account(request)
        batch = one(batch_rows(account), public_id=public_id)
        if not may_change_batch(batch, account):
            raise PermissionDenied("Only the person who asked for a batch and organisers may cancel it.")
        with acting(request, action="cancel", row=batch, sentence="was cancelled", channel=AuditEntry.Channel.API):
            return Response({"cancelled": batch_cancel(batch=batch, by_owner=batch.owner_id == account.pk)})


@extend_schema(parameters=[PATH])
class BatchTrajectories(Acting):
    """The trajectories of a batch in the Agent Trajectory Interchange Format (ATIF), one a line."""

    tag = "rollouts"
    throttle_classes = [StrangerThrottle, AccountThrottle, ResultsThrottle]

    @extend_schema(responses={(200, "application/jsonl"): OpenApiTypes.STR})
    def get(self, request: Request, public_id: UUID) -> StreamingHttpResponse:
        """Send those that are over, whose steps are kept, and whose steps you may see."""
        viewer = viewer_of(request)
        row = one(batch_rows(viewer), public_id=public_id)
        headers = {"Content-Disposition": f'attachment; filename="batch-{row.public_id}-atif.jsonl"'}
        return StreamingHttpResponse(batch_trajectories(row, viewer), content_type="application/jsonl", headers=headers)


@extend_schema(parameters=[PATH])
class BatchEvents(Acting):
    """How far a batch is as server-sent events; the browser reconnects by itself."""

    tag = "rollouts"
    # Every page that shows a batch at work asks every two seconds.
    throttle_classes = ()

    @extend_schema(responses={(200, "text/event-stream"): EVENT_SCHEMA})
    def get(self, request: Request, public_id: UUID) -> HttpResponse:
        """Send how many rollouts are in which phase and over; `end` once all of them are over."""
        viewer = viewer_of(request)
        row: Any = one(batch_rows(viewer), public_id=public_id)  # with its counts
        counts = {"rollouts": row.rollout_count, "over": row.over_count}
        events = [event("progress", {**counts, "phases": batch_phases(row, viewer)})]
        if row.over_count == row.rollout_count:
            events.append(event("end", counts))
        return events_response(events)
