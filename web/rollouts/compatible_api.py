"""The API of the older dashboard: its addresses, fields and sentences."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ParseError, PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.rollout.tasks.file import MOST_BYTES
from core.addresses import client_address, is_loopback
from core.courses.sight import Viewer
from core.errors import QuotaExceeded, Refused
from core.models import AuditEntry, Batch, BatchPurpose, Environment, Rollout, Task, User
from core.people.acting import acting
from core.people.audit_log import operator_of
from core.people.services import anonymous_ensure
from core.rollouts.batches import Options, batch_create, batch_hide, rollout_hide
from core.rollouts.choosing import agent_chosen, slug_in
from core.rollouts.permissions import may_change_batch
from core.rollouts.selectors import application_list, batch_rows, of_name, rollout_rows, task_get, tasks_current
from core.rollouts.statuses import (
    COMPLETED,
    ERROR,
    FAILED,
    PENDING,
    PROVISIONING,
    RUNNING,
    STATUSES,
    SUCCESS,
    status_filter,
)
from core.rollouts.storable import storable_text
from core.rollouts.tasks import tasks_upload
from web.api.base import Acting, Polled, checked
from web.api.parsers import BoundedFormParser, BoundedJSONParser
from web.api.schema import OBJECTS
from web.rollouts.batch_api import LONGEST_NAME
from web.rollouts.dashboard_rows import job_shown, rollout_shown, task_shown
from web.site.requests import account_of, viewer_of, whole_number
from web.site.throttling import AccountThrottle, StrangerThrottle, UploadThrottle
from web.site.uploads import allow_strangers

NO_TASK, NO_ROLLOUT, NO_JOB = "Task not found", "Rollout not found", "Job not found"
NOT_A_LIST, NOT_JSON = "JSON must be an array of tasks", "Invalid JSON file"
MOST_LISTED, MOST_RECENT, MOST_SHOWN = 500, 20, 50
NO_SUCH = OpenApiResponse(description="There is no such task or batch.")
LIST = {"limit": 100, "offset": 0}


class TaskUpload(serializers.Serializer[Any]):
    file = serializers.FileField(help_text="tasks.json: a list of {id, task, answer}, or an object with such a list.")
    environment = serializers.SlugField(
        required=False, help_text="The application; needed if the arena has several and the file names none."
    )
    allow_duplicates = serializers.BooleanField(default=False)


class NewRollouts(serializers.Serializer[Any]):
    task_id = serializers.CharField(max_length=LONGEST_NAME)
    model = serializers.CharField(
        max_length=200,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="A language model of this arena; or agent:NAME for the newest version of your agent, oracle, or "
        "nothing.",
    )
    attempts = serializers.IntegerField(default=1, max_value=50, allow_null=True, help_text="0 and null count as 1.")


class Dashboard(Acting):
    """A view of the older dashboard; on one's own machine it needs no token, as the dashboard had none."""

    def account(self, request: Request) -> User:
        """Return the account of the request; in a demo the anonymous one for programs of this machine."""
        is_own = settings.DEBUG and settings.ANONYMOUS_SUBMISSIONS and is_loopback(client_address(request.META))
        # A page of another site that is open in a browser could send forms to this machine.
        is_program = "Origin" not in request.headers or request.headers["Origin"] in settings.CORS_ORIGINS
        if account_of(request) is None and is_own and is_program:
            allow_strangers(request._request)
            return anonymous_ensure()
        return super().account(request)


class TasksUpload(Dashboard):
    """Upload tasks. Tasks that are known are revised; tasks that are wrong are skipped, with reasons."""

    tag = "rollouts"
    parser_classes = [MultiPartParser, BoundedFormParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    @extend_schema(request={"multipart/form-data": TaskUpload}, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request) -> Response:
        """Write the tasks of a file."""
        account, sent = self.account(request), checked(TaskUpload, request)
        data = sent["file"].read(MOST_BYTES + 1)
        try:
            uploaded = tasks_upload(
                owner=account,
                environment=_application(viewer_of(request), sent.get("environment", ""), data),
                data=data,
                allow_duplicates=sent["allow_duplicates"],
                operator=operator_of(request, AuditEntry.Channel.API),
            )
        except Refused as refusal:
            raise _as_dashboard(refusal) from None
        report = uploaded.file.report
        return Response({"message": f"Successfully uploaded {report['count']} tasks", **report})


class Tasks(APIView):
    """All tasks that you may see, newest first."""

    tag = "rollouts"

    @extend_schema(responses=OBJECTS)
    def get(self, request: Request) -> Response:
        """List the tasks."""
        viewer = viewer_of(request)
        rows = tasks_current(viewer).order_by("-created_at", "-pk")[:MOST_LISTED]
        return Response([task_shown(row, viewer) for row in rows])


@extend_schema(parameters=[OpenApiParameter("key", OpenApiTypes.STR, OpenApiParameter.PATH)])
class TaskShown(APIView):
    """One task."""

    tag = "rollouts"

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Show a task."""
        viewer = viewer_of(request)
        return Response(task_shown(_named(viewer, key), viewer))


class TaskJobs(TaskShown):
    """The batches of a task, newest first."""

    @extend_schema(responses=OBJECTS)
    def get(self, request: Request, key: str) -> Response:
        """List the batches."""
        viewer = viewer_of(request)
        task = _named(viewer, key)
        rows = batch_rows(viewer, task=task)[:MOST_LISTED]
        return Response([job_shown(row, task) for row in rows])


class Rollouts(Polled, Dashboard):
    """Rollouts: GET lists them, newest first, and POST lets an agent work at a task."""

    tag = "rollouts"
    parser_classes = [BoundedJSONParser, BoundedFormParser]

    @extend_schema(
        parameters=[
            OpenApiParameter("task_id", OpenApiTypes.STR),
            OpenApiParameter("job_id", OpenApiTypes.UUID),
            OpenApiParameter("status", OpenApiTypes.STR, enum=list(STATUSES)),
            OpenApiParameter("limit", OpenApiTypes.INT),
            OpenApiParameter("offset", OpenApiTypes.INT),
        ],
        responses={**OBJECTS, 404: NO_SUCH},
    )
    def get(self, request: Request) -> Response:
        """List rollouts."""
        viewer = viewer_of(request)
        rows = _asked(_filtered(rollout_rows(viewer), request))
        begin, count = _number(request, "offset"), min(_number(request, "limit"), MOST_LISTED)
        return Response([rollout_shown(row, viewer) for row in rows[begin : begin + count]])

    @extend_schema(request=NewRollouts, responses={**OBJECTS, 404: NO_SUCH})
    def post(self, request: Request) -> Response:
        """Make rollouts, which form a batch."""
        account, sent = self.account(request), checked(NewRollouts, request)
        task = _named(account, sent["task_id"])
        try:
            batch = batch_create(
                owner=account,
                environment=task.environment,
                tasks=[task],
                agent=agent_chosen(owner=account, environment=task.environment, word=sent.get("model") or ""),
                options=Options(attempts=max(1, sent["attempts"] or 1)),
            )
        except QuotaExceeded:
            raise
        except Refused as refusal:
            raise _as_dashboard(refusal) from None
        rows = rollout_rows(account).filter(batch=batch).order_by("pk")
        return Response([rollout_shown(row, account) for row in rows])


@extend_schema(parameters=[OpenApiParameter("public_id", OpenApiTypes.STR, OpenApiParameter.PATH)])
class DashboardRollout(Polled, Dashboard):
    """One rollout. DELETE cancels it if it is not over, and takes it out of all lists."""

    tag = "rollouts"

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, public_id: str) -> Response:
        """Show a rollout."""
        viewer = viewer_of(request)
        return Response(rollout_shown(_one_rollout(viewer, public_id), viewer))

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def delete(self, request: Request, public_id: str) -> Response:
        """Cancel and hide a rollout."""
        account = self.account(request)
        rollout = _one_rollout(account, public_id)
        _check_change(rollout.batch, account)
        sentence, channel = "was cancelled and taken out of the lists", AuditEntry.Channel.API
        with acting(request, action="hide", row=rollout, sentence=sentence, channel=channel):
            rollout_hide(rollout=rollout, by_owner=rollout.batch.owner_id == account.pk)
        return Response({"message": "Rollout deleted successfully"})


@extend_schema(parameters=[OpenApiParameter("public_id", OpenApiTypes.STR, OpenApiParameter.PATH)])
class DashboardJob(Polled, Dashboard):
    """One batch with its rollouts. DELETE cancels what is not over, and takes all of it out of the lists."""

    tag = "rollouts"

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, public_id: str) -> Response:
        """Show a batch."""
        viewer = viewer_of(request)
        batch = _one_batch(viewer, public_id)
        rows = list(rollout_rows(viewer).filter(batch=batch).order_by("pk")[:MOST_LISTED])
        job = job_shown(batch, rows[0].task if rows else None)
        return Response({**job, "rollouts": [rollout_shown(row, viewer) for row in rows]})

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def delete(self, request: Request, public_id: str) -> Response:
        """Cancel and hide a batch."""
        account = self.account(request)
        batch = _one_batch(account, public_id)
        _check_change(batch, account)
        sentence, channel = "was cancelled and taken out of the lists", AuditEntry.Channel.API
        with acting(request, action="hide", row=batch, sentence=sentence, channel=channel):
            batch_hide(batch=batch, by_owner=batch.owner_id == account.pk)
        return Response({"message": "Job and all its rollouts deleted successfully"})


class ComputeStats(APIView):
    """How many rollouts wait, run and are over, and the latest of them."""

    tag = "rollouts"

    @extend_schema(
        parameters=[
            OpenApiParameter("task_id", OpenApiTypes.STR),
            OpenApiParameter("status", OpenApiTypes.STR, enum=list(STATUSES)),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request) -> Response:
        """Count the rollouts."""
        viewer = viewer_of(request)
        rows = _asked(_filtered(rollout_rows(viewer), request))
        counted = {name: Count("pk", filter=status_filter(name)) for name in STATUSES}
        counts = rows.order_by().aggregate(total=Count("pk"), **counted)

        def listed(condition: Q, most: int, *order: str) -> list[dict[str, Any]]:
            return [rollout_shown(row, viewer) for row in rows.filter(condition).order_by(*order, "-pk")[:most]]

        busy = status_filter(PROVISIONING) | status_filter(RUNNING)
        failed = status_filter(FAILED) | status_filter(ERROR)
        return Response(
            {
                "total_rollouts": counts["total"],
                **{name: counts[name] for name in (PENDING, PROVISIONING, RUNNING, COMPLETED, FAILED, ERROR)},
                "success_count": counts[SUCCESS],
                "in_progress_rollouts": listed(busy, MOST_SHOWN),
                "pending_rollouts": listed(status_filter(PENDING), MOST_SHOWN),
                # Successes only, as the dashboard has it.
                "recent_completed_rollouts": listed(status_filter(SUCCESS), MOST_RECENT, "-ended_at"),
                "recent_failed_rollouts": listed(failed, MOST_RECENT, "-ended_at"),
                "all_rollouts": listed(Q(), MOST_SHOWN),
            }
        )


def _application(viewer: Viewer, slug: str, data: bytes) -> Environment:
    """Return the application of an upload: the one that is named, in the form or in the file, or the only one."""
    found = {row.slug: row for row in application_list(viewer)}
    wanted = slug or slug_in(data)
    if wanted and wanted in found:
        return found[wanted]
    if wanted or not found:
        raise ParseError(f"This arena has no application {wanted}." if wanted else "This arena has no application yet.")
    if len(found) > 1:
        raise ParseError(f"Name the application in `environment`: {', '.join(found)}.")
    return next(iter(found.values()))


def _as_dashboard(refusal: Refused) -> ParseError | PermissionDenied | NotFound:
    """Return the error of a refusal in the dashboard's words, where it has any."""
    match refusal.code:
        case "not_tasks":
            return ParseError(NOT_A_LIST)
        case "invalid_json" | "not_utf8" | "too_deep":
            return ParseError(NOT_JSON)
        case "rollouts_off" | "rollouts_not_yours" | "agent_not_yours" | "model_not_yours":
            return PermissionDenied(str(refusal))
        case "task_not_found":
            return NotFound(NO_TASK)
    return ParseError(str(refusal))


def _asked(rows: QuerySet[Rollout]) -> QuerySet[Rollout]:
    return rows.exclude(batch__purpose=BatchPurpose.ACCEPTANCE)


def _filtered(rows: QuerySet[Rollout], request: Request) -> QuerySet[Rollout]:
    query = request.query_params
    if key := query.get("task_id"):
        rows = rows.filter(of_name(viewer_of(request), storable_text(key)))
    if job := query.get("job_id"):
        rows = rows.filter(batch__public_id=_uuid(job, NO_JOB))
    if status := query.get("status"):
        if status not in STATUSES:
            raise ParseError(f"status must be one of {', '.join(STATUSES)}.")
        rows = rows.filter(status_filter(status))
    return rows


def _number(request: Request, name: str) -> int:
    word = request.query_params.get(name, str(LIST[name]))
    if (number := whole_number(word)) is None:
        raise ParseError(f"{name} must be a whole number.")
    return number


def _named(viewer: Any, key: str) -> Task:
    try:
        return task_get(viewer, storable_text(key))
    except Task.DoesNotExist:
        raise Http404(NO_TASK) from None


def _one_rollout(viewer: Any, public_id: str) -> Rollout:
    found = rollout_rows(viewer).filter(public_id=_uuid(public_id, NO_ROLLOUT)).first()
    if found is None:
        raise Http404(NO_ROLLOUT)
    return found


def _one_batch(viewer: Any, public_id: str) -> Batch:
    found = batch_rows(viewer).filter(public_id=_uuid(public_id, NO_JOB)).first()
    if found is None:
        raise Http404(NO_JOB)
    return found


def _check_change(batch: Batch, account: User) -> None:
    if not may_change_batch(batch, account):
        raise PermissionDenied("Only the person who asked for a rollout and organisers may delete it.")


def _uuid(text: str, missing: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Http404(missing) from None
