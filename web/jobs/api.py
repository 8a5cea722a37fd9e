"""API of jobs: state, waiting, faults, logs, cancelling."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.jobs.kinds import JOB_MODELS
from core.jobs.selectors import attempts_of, queue_counts
from core.jobs.waits import Wait, WaitCode, wait_of
from core.listing import job_rows
from core.models import AuditEntry, Duel, Job, JobFault, JobState
from core.models.job import PRIORITIES
from core.operations.priorities import priority_set
from core.people.audit_log import operator_of
from core.people.rights import may
from core.submissions.cancels import PHASES, phase_cancel
from core.submissions.player_logs import job_player_log_visible, player_log_read
from core.submissions.visibility import job_error_shown, job_log_visible, jobs_visible, submission_of
from core.tournaments.results import duel_check, withheld_from
from web.api.base import Acting, Listed, Polled, Shown, checked, one, refusals
from web.api.fields import PRIVATE, JobFields
from web.api.replays import WITHHELD
from web.site.requests import viewer_of

KIND = OpenApiParameter("kind", OpenApiTypes.STR, OpenApiParameter.PATH, enum=sorted(JOB_MODELS))


class JobAnswer(JobFields):
    kind = serializers.CharField(source="KIND")
    priority = serializers.IntegerField(help_text="Set by organisers, from -10 (after others) to 10 (before them).")
    not_before = serializers.DateTimeField(allow_null=True, help_text="After a fault, the job is delayed until then.")
    submission = serializers.SerializerMethodField(help_text="null for a duel, see /api/v1/duels/ID/.")
    error = serializers.SerializerMethodField(help_text="A sentence; without the details that only the owner may read.")

    def get_submission(self, row: Job) -> str | None:
        submission = submission_of(row)
        return None if submission is None else str(submission.public_id)

    def get_error(self, row: Job) -> str:
        return job_error_shown(row, viewer_of(self.context["request"]))


class WaitAnswer(serializers.Serializer[Any]):
    code = serializers.ChoiceField(choices=WaitCode.choices)
    sentence = serializers.CharField()
    is_stuck = serializers.BooleanField(help_text="Waiting longer does not help: the organisers have to act.")
    until = serializers.DateTimeField(allow_null=True, help_text="Time of the next attempt, if it is known.")
    begins_in_seconds = serializers.IntegerField(
        allow_null=True,
        help_text="When it begins, estimated from the last jobs of its kind; null where there is too little to go by.",
    )


class AttemptAnswer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField()
    code = serializers.CharField()
    error = serializers.CharField()


class JobFullAnswer(JobAnswer):
    queue_place = serializers.SerializerMethodField(help_text="Place among the waiting jobs of its kind, from 1.")
    wait = serializers.SerializerMethodField(help_text="Why the job is waiting; null once it runs or is over.")
    history = serializers.SerializerMethodField(
        help_text="Attempts that failed; null for people who may not read the log."
    )

    _wait: Wait | None = None

    def to_representation(self, instance: Job) -> dict[str, Any]:
        self._wait = wait_of(instance)
        return super().to_representation(instance)

    def get_queue_place(self, row: Job) -> int | None:
        return None if self._wait is None else self._wait.place

    @extend_schema_field(WaitAnswer(allow_null=True))
    def get_wait(self, row: Job) -> dict[str, Any] | None:
        return None if self._wait is None else dict(WaitAnswer(self._wait).data)

    @extend_schema_field(AttemptAnswer(many=True, allow_null=True))
    def get_history(self, row: Job) -> list[dict[str, Any]] | None:
        if not job_log_visible(row, viewer_of(self.context["request"])):
            return None
        return list(AttemptAnswer(attempts_of(row), many=True).data)


class JobFilter(filters.FilterSet):
    state = filters.ChoiceFilter(choices=JobState.choices)
    fault = filters.ChoiceFilter(choices=JobFault.choices)

    class Meta:
        model = Job
        fields = ["state", "fault"]


class OfKind(APIView):
    """Restricts a view to jobs of the kind that the address names, as far as the viewer may know of them."""

    def get_queryset(self) -> QuerySet[Job]:
        kind = self.kwargs.get("kind", "build")
        if kind not in JOB_MODELS:
            raise Http404(f"There is no such kind of job. The kinds are {', '.join(sorted(JOB_MODELS))}.")
        return jobs_visible(job_rows(kind), viewer_of(self.request))


@extend_schema(parameters=[KIND])
class JobList(OfKind, Listed[Job]):
    """All jobs of a kind, newest first."""

    tag = "jobs"
    serializer_class = JobAnswer
    filterset_class = JobFilter
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[Job]:
        rows = super().get_queryset()
        if rows.model is not Duel:
            return rows
        # The time at which a duel ends already tells something about its result.
        withheld = withheld_from(viewer_of(self.request))
        return rows.exclude(pk__in=Duel.objects.filter(tournament__in=withheld))


@extend_schema(parameters=[KIND], responses={200: JobFullAnswer, 403: WITHHELD})
class JobShown(Polled, OfKind, Shown[Job]):
    """One job."""

    tag = "jobs"
    serializer_class = JobFullAnswer

    def get_object(self) -> Job:
        row = super().get_object()
        if isinstance(row, Duel):
            duel_check(row, viewer_of(self.request))
        return row


class LogAnswer(serializers.Serializer[Any]):
    log = serializers.CharField()


class LogQuery(serializers.Serializer[Any]):
    player = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2,
        help_text="What this player of a validation, an evaluation or a duel printed, instead of the arena's log.",
    )


class JobLog(OfKind):
    """The log of a job, or what a player printed in it. Only the owner may read those of a private agent."""

    tag = "jobs"

    @extend_schema(parameters=[KIND, LogQuery], responses={200: LogAnswer, 403: OpenApiResponse(description=PRIVATE)})
    def get(self, request: Request, kind: str, pk: int) -> Response:
        row = one(self.get_queryset(), pk=pk)
        query = LogQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        player, viewer = query.validated_data.get("player"), viewer_of(request)
        if isinstance(row, Duel):
            duel_check(row, viewer)
        is_visible = job_log_visible(row, viewer) if player is None else job_player_log_visible(row, player, viewer)
        if not is_visible:
            raise PermissionDenied(PRIVATE)
        return Response({"log": row.log if player is None else player_log_read(row, player)})


class JobCancel(Acting):
    """Cancelling a job."""

    tag = "jobs"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "kind", OpenApiTypes.STR, OpenApiParameter.PATH, enum=["build", "evaluation", "validation"]
            )
        ],
        request=None,
        responses={200: JobFullAnswer, 403: OpenApiResponse(description="The agent is not yours.")},
    )
    def post(self, request: Request, kind: str, pk: int) -> Response:
        """Cancel a build, validation or evaluation of your agent. Owners cannot cancel other jobs."""
        account = self.account(request)
        if kind not in {model.KIND for model in PHASES}:
            raise Http404(
                "Only builds, validations and evaluations are cancelled here; a challenge has its own address."
            )
        row = one(job_rows(kind), pk=pk)
        assert isinstance(row, PHASES)
        if row.submission.agent.owner_id != account.pk:
            raise PermissionDenied("Only the owner of an agent may cancel its jobs.")
        with refusals():
            phase_cancel(job=row, operator=operator_of(request, AuditEntry.Channel.API))
        return Response(JobFullAnswer(one(job_rows(kind), pk=pk), context={"request": request}).data)


class PriorityRequest(serializers.Serializer[Any]):
    priority = serializers.IntegerField(min_value=-PRIORITIES, max_value=PRIORITIES)


class JobPriority(OfKind, Acting):
    """Where a waiting job stands in its line."""

    tag = "jobs"

    @extend_schema(
        parameters=[KIND],
        request=PriorityRequest,
        responses={200: JobFullAnswer, 403: OpenApiResponse(description="Only organisers may do this.")},
    )
    def put(self, request: Request, kind: str, pk: int) -> Response:
        """Set the priority of a waiting job. For organisers who may change jobs of this kind."""
        account = self.account(request)
        rows = self.get_queryset()
        if not may(account, f"core.change_{rows.model._meta.model_name}"):
            raise PermissionDenied("Only organisers may change the priority of a job.")
        row = one(rows, pk=pk)
        priority = checked(PriorityRequest, request)["priority"]
        with refusals():
            priority_set(job=row, priority=priority, operator=operator_of(request, AuditEntry.Channel.API))
        return Response(JobFullAnswer(one(rows, pk=pk), context={"request": request}).data)


class QueueAnswer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()


class Queues(APIView):
    """How many jobs of each kind are waiting and running."""

    tag = "jobs"

    @extend_schema(responses=QueueAnswer(many=True))
    def get(self, request: Request) -> Response:
        return Response(QueueAnswer(queue_counts(), many=True).data)
