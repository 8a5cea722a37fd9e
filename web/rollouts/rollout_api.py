"""The native API of rollouts: lists, steps, verdicts, files, exports, and events while they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from core.duels.selectors import file_get
from core.models import AuditEntry, CancelCode, EndedBy, JobFault, JobState, Rollout, RolloutOutcome, RolloutPhase
from core.people.acting import acting
from core.rollouts.batches import rollout_cancel
from core.rollouts.permissions import expected_visible, may_change_batch, work_hidden_because, work_visible
from core.rollouts.records import atif_trajectory, dashboard_log, may_have_step, steps_of
from core.rollouts.selectors import checks_shown, of_name, rollout_get, rollout_rows, verdicts_of
from web.api.base import Acting, Listed, Polled
from web.api.fields import JobFields, Version
from web.api.schema import OBJECTS
from web.rollouts.events import EVENT_SCHEMA, event, events_response
from web.site.exports import exported
from web.site.requests import viewer_of, whole_number
from web.site.throttling import ResultsThrottle

PATH = OpenApiParameter("public_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
SEEN: Mapping[str, str] = {
    "video": "video/webm",
    "steps": "application/gzip",
    "pages": "application/zip",
    "trace": "application/zip",
    "har": "application/json",
    "player_log": "text/plain",
}
"""The files that those may read who see what an agent did."""
SECRET: Mapping[str, str] = {
    "record": "application/json",
    "export": "application/zip",
    "changes": "application/json",
    "world_log": "text/plain",
    "model_log": "application/gzip",
}
"""The files for those who may see answers: the state of an application may hold them."""
FILE_ANSWERS: Mapping[Any, Any] = {
    (200, kind): OpenApiTypes.BINARY for kind in sorted({*SEEN.values(), *SECRET.values()})
}
MOST_STEPS, MOST_EXPORTED = 50, 5_000


class RolloutAnswer(JobFields):
    id = serializers.UUIDField(source="public_id")  # type: ignore[assignment]  # clients know it by this one
    environment = serializers.CharField(source="environment.slug")
    task = serializers.CharField(source="task.name")
    task_revision = serializers.IntegerField(source="task.revision")
    package = serializers.IntegerField(source="package.number")
    batch = serializers.UUIDField(source="batch.public_id")
    agent = serializers.CharField(source="batch.agent_name")
    submission = Version(allow_null=True)
    attempt_number = serializers.IntegerField()
    phase = serializers.ChoiceField(choices=RolloutPhase.choices)
    outcome = serializers.ChoiceField(choices=RolloutOutcome.choices)
    score = serializers.FloatField(allow_null=True)
    ended_by = serializers.ChoiceField(choices=EndedBy.choices)
    step_count = serializers.IntegerField()
    seconds = serializers.FloatField()
    agent_seconds = serializers.FloatField()
    tokens_in = serializers.IntegerField()
    tokens_out = serializers.IntegerField()
    cost_micros = serializers.IntegerField()
    record_sha256 = serializers.CharField()


class RolloutFullAnswer(RolloutAnswer):
    answer = serializers.SerializerMethodField(help_text="null for people who may not see it.")
    verdict = serializers.SerializerMethodField(help_text="Code and sentence why it is not solved.")
    error = serializers.CharField(source="public_error")
    files = serializers.SerializerMethodField(help_text="Names of the files that you may read.")

    def _sees(self, row: Rollout) -> bool:
        return work_visible(row, viewer_of(self.context["request"]))

    def get_answer(self, row: Rollout) -> Any:
        return row.answer if self._sees(row) else None

    def get_verdict(self, row: Rollout) -> dict[str, str] | None:
        if not self._sees(row):
            return None
        shows_all = expected_visible(row, viewer_of(self.context["request"]))
        return {"code": row.verdict_code, "sentence": row.verdict_sentence if shows_all else ""}

    def get_files(self, row: Rollout) -> list[str]:
        return [name for name in _readable(row, viewer_of(self.context["request"])) if getattr(row, name)]


class RolloutFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug")
    task = filters.CharFilter(method="at_task")
    batch = filters.UUIDFilter(field_name="batch__public_id")
    state = filters.ChoiceFilter(choices=JobState.choices)
    fault = filters.ChoiceFilter(choices=JobFault.choices)
    outcome = filters.ChoiceFilter(choices=RolloutOutcome.choices)

    class Meta:
        model = Rollout
        fields = ["environment", "task", "batch", "state", "fault", "outcome"]

    def at_task(self, rows: QuerySet[Rollout], _: str, name: str) -> QuerySet[Rollout]:
        """Narrow to the rollouts at the task that a name means."""
        return rows.filter(of_name(viewer_of(self.request), name))


class RolloutList(Listed[Rollout]):
    """Rollouts, newest first."""

    tag = "rollouts"
    serializer_class = RolloutAnswer
    filterset_class = RolloutFilter

    def get_queryset(self) -> QuerySet[Rollout]:
        return rollout_rows(viewer_of(self.request))


class RolloutsExport(RolloutList):
    """The rollouts of a list as CSV or JSON, with the same filters."""

    @extend_schema(
        parameters=[OpenApiParameter("kind", OpenApiTypes.STR, OpenApiParameter.PATH, enum=["csv", "json"])],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/json"): OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        """Send the rows as a file."""
        if kwargs["kind"] not in ("csv", "json"):
            raise Http404("Rollouts can be downloaded as csv or json.")
        rows = self.filter_queryset(self.get_queryset())[:MOST_EXPORTED]
        viewer = viewer_of(request)
        return exported(kwargs["kind"], "rollouts", [_flat(row, viewer) for row in rows])


@extend_schema(parameters=[PATH])
class RolloutShown(Polled, Acting):
    """One rollout. DELETE cancels it if it is not over."""

    tag = "rollouts"

    @extend_schema(responses=RolloutFullAnswer)
    def get(self, request: Request, public_id: UUID) -> Response:
        """Show a rollout."""
        return Response(RolloutFullAnswer(_rollout(request, public_id), context={"request": request}).data)

    @extend_schema(request=None, responses={200: OpenApiTypes.OBJECT})
    def delete(self, request: Request, public_id: UUID) -> Response:
        """Cancel a rollout."""
        account, row = self.account(request), _rollout(request, public_id)
        if not may_change_batch(row.batch, account):
            raise PermissionDenied("Only the person who asked for a rollout and organisers may cancel it.")
        with acting(request, action="cancel", row=row, sentence="was cancelled", channel=AuditEntry.Channel.API):
            by = CancelCode.BY_OWNER if row.batch.owner_id == account.pk else CancelCode.BY_ORGANISER
            return Response({"cancelled": rollout_cancel(rollout=row, code=by)})


@extend_schema(parameters=[PATH])
class RolloutSteps(Acting):
    """The steps of a rollout, also while it runs: ?after=N gives the next ones."""

    tag = "rollouts"

    @extend_schema(parameters=[OpenApiParameter("after", OpenApiTypes.INT)], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, public_id: UUID) -> Response:
        """List steps, at most fifty."""
        row = _seen(request, public_id)
        return Response(
            {"state": row.state, "phase": row.phase, "steps": steps_of(row, after=_after(request), most=MOST_STEPS)}
        )


@extend_schema(parameters=[PATH])
class RolloutVerdicts(Acting):
    """Every verdict about a rollout, the first one first."""

    tag = "rollouts"

    @extend_schema(responses=OBJECTS)
    def get(self, request: Request, public_id: UUID) -> Response:
        """List verdicts with their checks; what was expected is for those who may see answers."""
        row = _seen(request, public_id)
        shows_all = expected_visible(row, viewer_of(request))
        return Response([_verdict(each, shows_all=shows_all) for each in verdicts_of(row)])


@extend_schema(parameters=[PATH])
class RolloutExport(Acting):
    """The log of a rollout as ATIF, or in the form of the older dashboard."""

    tag = "rollouts"

    @extend_schema(
        parameters=[OpenApiParameter("form", OpenApiTypes.STR, enum=["atif", "dashboard"])],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, public_id: UUID) -> Response:
        """Send the log."""
        row = _seen(request, public_id)
        forms: dict[str, Callable[..., dict[str, Any]]] = {"atif": atif_trajectory, "dashboard": dashboard_log}
        form = forms.get(request.query_params.get("form", "atif"))
        if form is None:
            raise ParseError("form must be atif or dashboard.")
        return Response(form(row, steps_of(row)))


@extend_schema(parameters=[PATH, OpenApiParameter("name", OpenApiTypes.STR, OpenApiParameter.PATH)])
class RolloutFile(Acting):
    """A file of a rollout: video, steps, pages, trace, har, export, logs."""

    tag = "rollouts"

    @extend_schema(responses=FILE_ANSWERS)
    def get(self, request: Request, public_id: UUID, name: str) -> HttpResponseBase:
        """Send a file."""
        row = _rollout(request, public_id)
        kinds = _readable(row, viewer_of(request))
        if name not in {**SEEN, **SECRET}:
            raise Http404("There is no such file.")
        if name not in kinds:
            raise PermissionDenied(work_hidden_because(row))
        stored = getattr(row, name)
        file = file_get(stored, f"The {name} of this rollout is")
        # Shown by nothing but players of videos: what is in the others came from agents and pages.
        return FileResponse(
            file, as_attachment=name != "video", filename=stored.name.rpartition("/")[2], content_type=kinds[name]
        )


@extend_schema(parameters=[PATH])
class RolloutEvents(Acting):
    """The progress of a rollout as server-sent events; the browser reconnects by itself, from the last step on."""

    tag = "rollouts"
    # Every page that shows a rollout at work asks every two seconds; a stored log is read within a limit.
    throttle_classes = ()

    @extend_schema(
        parameters=[OpenApiParameter("Last-Event-ID", OpenApiTypes.INT, OpenApiParameter.HEADER)],
        responses={(200, "text/event-stream"): EVENT_SCHEMA},
    )
    def get(self, request: Request, public_id: UUID) -> HttpResponse:
        """Send the steps since the last event, and the phase; `end` once the rollout is over."""
        row = _seen(request, public_id)
        after = whole_number(request.headers.get("Last-Event-ID", "")) or 0
        stored = ResultsThrottle() if row.steps and may_have_step(row, after + 1) else None
        if stored is not None and not stored.allow_request(request, self):
            self.throttled(request, stored.wait())
        events = [event("step", step, number=step["number"]) for step in steps_of(row, after=after, most=MOST_STEPS)]
        told_all = len(events) < MOST_STEPS
        events.append(event("phase", {"state": row.state, "phase": row.phase, "steps": row.step_count}))
        if row.is_over and told_all:
            events.append(event("end", {"state": row.state, "outcome": row.outcome}))
        return events_response(events)


def _rollout(request: Request, public_id: UUID) -> Rollout:
    try:
        return rollout_get(viewer_of(request), public_id)
    except Rollout.DoesNotExist:
        raise Http404("Rollout not found") from None


def _seen(request: Request, public_id: UUID) -> Rollout:
    """Return a rollout whose steps the viewer may see. Raises Http404 and PermissionDenied."""
    row = _rollout(request, public_id)
    if not work_visible(row, viewer_of(request)):
        raise PermissionDenied(work_hidden_because(row))
    return row


def _readable(row: Rollout, viewer: Any) -> Mapping[str, str]:
    """Return the types of the files that a viewer may read, by name."""
    if expected_visible(row, viewer):
        return {**SEEN, **SECRET}
    return SEEN if work_visible(row, viewer) else {}


def _after(request: Request) -> int:
    number = whole_number(request.query_params.get("after", "0"))
    if number is None:
        raise ParseError("after must be the number of a step.")
    return number


def _verdict(row: Any, *, shows_all: bool) -> dict[str, Any]:
    checks, guards = checks_shown(row, with_expected=shows_all)
    return {
        "reason": row.reason,
        "judge_version": row.judge_version,
        "outcome": row.outcome,
        "fault": row.fault,
        "score": row.score,
        "code": row.code,
        "sentence": row.sentence if shows_all else "",
        "checks": checks,
        "guards": guards,
        "task_revision": row.task.revision,
        "created_at": row.created_at,
    }


def _flat(row: Rollout, viewer: Any) -> dict[str, Any]:
    """Return a rollout as a row of a table, without what agents have said."""
    verdict_code = row.verdict_code if work_visible(row, viewer) else ""
    return {
        "id": str(row.public_id),
        "batch": str(row.batch.public_id),
        "environment": row.environment.slug,
        "task": row.task.name,
        "revision": row.task.revision,
        "agent": row.batch.agent_name,
        "attempt": row.attempt_number,
        "state": row.state,
        "fault": row.fault,
        "outcome": row.outcome,
        "score": row.score,
        "ended_by": row.ended_by,
        "code": verdict_code or row.error_code,
        "steps": row.step_count,
        "seconds": row.seconds,
        "agent_seconds": row.agent_seconds,
        "tokens_in": row.tokens_in,
        "tokens_out": row.tokens_out,
        "cost_micros": row.cost_micros,
        "created_at": row.created_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else "",
        "record_sha256": row.record_sha256,
    }
