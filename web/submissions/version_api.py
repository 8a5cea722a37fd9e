"""The API that shows the status and source of submissions, and deletes them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.duels.selectors import NotStored, file_get
from core.jobs.phase_selectors import SubmissionStatus, status_of
from core.listing import submission_rows
from core.models import JobFault, JobState, Promotion, PromotionState, Submission, SubmissionForm
from core.submissions.selectors import agent_source_visible
from core.submissions.tries import versions_visible
from core.submissions.visibility import error_shown
from web.api.base import Acting, Listed, Polled, Shown, one
from web.api.deleting import delete
from web.api.fields import PRIVATE, AgentName
from web.api.listing import RowFilter
from web.site.requests import viewer_of
from web.submissions.standing_part import place_of


class PhaseAnswer(serializers.Serializer[Any]):
    """The latest job of one kind for a submission."""

    kind = serializers.CharField(source="KIND")
    id = serializers.IntegerField(help_text="As in /api/v1/jobs/KIND/ID/.")
    state = serializers.ChoiceField(choices=JobState.choices)
    fault = serializers.ChoiceField(choices=JobFault.choices)
    error_code = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class PromotionAnswer(serializers.Serializer[Any]):
    """The test of a version against the one that played for its agent when it was validated."""

    state = serializers.ChoiceField(choices=PromotionState.choices)
    verdict = serializers.CharField(help_text="Result of the test, with the reason.")
    incumbent = serializers.IntegerField(
        source="incumbent.number", help_text="Number of the version that the new one is tested against."
    )
    duel = serializers.SerializerMethodField(help_text="Id of the last duel of the test.")
    test = serializers.JSONField(help_text="Bounds of the test, fixed before the first match.")
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)

    def get_duel(self, row: Promotion) -> int | None:
        return max((duel.pk for duel in row.duels.all()), default=None)


class SubmissionAnswer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="public_id")
    agent = AgentName()
    environment = serializers.CharField(source="agent.environment.slug")
    number = serializers.IntegerField(help_text="Number of the version, from 1.")
    form = serializers.ChoiceField(choices=SubmissionForm.choices)
    algorithm = serializers.CharField()
    user_label = serializers.CharField(help_text="Name that an anonymous client gave.")
    archive_sha256 = serializers.CharField()
    archive_bytes = serializers.IntegerField()
    is_benched = serializers.BooleanField(
        help_text="Whether the version is benched. The newest valid version that is not benched plays for the agent."
    )
    promotion = serializers.SerializerMethodField(
        help_text="Last test of the version, if the environment tests new versions before they play."
    )
    created_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    status = serializers.SerializerMethodField(help_text="Status of the version in one word.")
    phases = serializers.SerializerMethodField()

    @extend_schema_field(PromotionAnswer(allow_null=True))
    def get_promotion(self, row: Submission) -> Any:
        last = max(row.promotions.all(), key=lambda promotion: promotion.pk, default=None)
        return None if last is None else PromotionAnswer(last).data

    @extend_schema_field({"type": "string", "enum": [status.name for status in SubmissionStatus]})
    def get_status(self, row: Submission) -> str:
        return status_of(row).name

    @extend_schema_field(PhaseAnswer(many=True))
    def get_phases(self, row: Submission) -> Any:
        latest = (row.latest_build, row.latest_validation, row.latest_evaluation, row.latest_publication)
        return PhaseAnswer([job for job in latest if job is not None], many=True).data


class PlaceAnswer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(help_text="Rank of the agent on the leaderboard now. Ties share: 1, 1, 3.")
    size = serializers.IntegerField(allow_null=True, help_text="Number of ranked agents; null on a board of scores.")
    number = serializers.IntegerField(help_text="Number of the version that has the rank.")
    rating = serializers.FloatField(allow_null=True)
    score = serializers.FloatField(allow_null=True)


class SubmissionFullAnswer(SubmissionAnswer):
    """A submission with the fields that only people who can read its source may see, and its agent's place."""

    place = serializers.SerializerMethodField(help_text="The place of the agent; null without a rank.")

    error = serializers.SerializerMethodField(help_text="Why the latest failed phase failed.")
    warnings = serializers.SerializerMethodField(help_text="Warnings of the build.")

    @extend_schema_field(PlaceAnswer(allow_null=True))
    def get_place(self, row: Submission) -> Any:
        found = place_of(row.agent, None)
        of = found.rating or found.evaluation
        if found.rank is None or of is None:
            return None
        figures = {"rating": getattr(found.rating, "value", None), "score": getattr(found.evaluation, "score", None)}
        return {"rank": found.rank, "size": found.size, "number": of.submission.number, **figures}

    def get_warnings(self, row: Submission) -> list[str]:
        visible = agent_source_visible(row.agent, viewer_of(self.context["request"]))
        return list(row.warnings) if visible else []

    def get_error(self, row: Submission) -> str:
        viewer = viewer_of(self.context["request"])
        jobs = (row.latest_evaluation, row.latest_validation, row.latest_build)
        failed = next((job for job in jobs if job is not None and job.state == JobState.FAILED), None)
        if failed is None:
            return ""
        return error_shown(failed, viewer, can_see_source=agent_source_visible(row.agent, viewer))


class UploadAnswer(SubmissionFullAnswer):
    """A submission after an upload. The context has the sentences as `notes`."""

    notes = serializers.SerializerMethodField(
        help_text="What the uploader should know, e.g. that a version has the same archive and nothing was uploaded."
    )

    def get_notes(self, row: Submission) -> list[str]:
        notes: list[str] = self.context["notes"]
        return notes


class SubmissionFilter(filters.FilterSet):
    agent = RowFilter(field_name="agent_id")
    environment = filters.CharFilter(field_name="agent__environment__slug", help_text="Slug of the environment.")
    owner = filters.CharFilter(field_name="agent__owner__username", lookup_expr="iexact")
    form = filters.ChoiceFilter(choices=SubmissionForm.choices)

    class Meta:
        model = Submission
        fields = ["agent", "environment", "owner", "form"]


class SubmissionList(Listed[Submission]):
    """Submissions that have worked, and those of the account, with their phases, newest first."""

    tag = "submissions"
    serializer_class = SubmissionAnswer
    filterset_class = SubmissionFilter
    ordering_fields = ("created_at",)

    def get_queryset(self) -> QuerySet[Submission]:
        return versions_visible(submission_rows(), viewer_of(self.request))


class SubmissionShown(Polled, Shown[Submission], Acting):
    """One submission."""

    tag = "submissions"
    queryset = submission_rows()
    serializer_class = SubmissionFullAnswer
    lookup_field = "public_id"

    @extend_schema(
        request=None, responses={204: OpenApiResponse(description="The version is deleted; its results stay.")}
    )
    def delete(self, request: Request, public_id: str) -> Response:
        """Delete the archive and image of your version. Its results stay, because opponents share them."""
        account = self.account(request)
        row = one(submission_rows(), public_id=public_id)
        delete(request, account, row)
        return Response(status=204)


class SubmissionArchive(APIView):
    """The uploaded archive as a zip; that of a private agent only for its owner and organisers."""

    tag = "submissions"

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY, 403: OpenApiResponse(description=PRIVATE)})
    def get(self, request: Request, public_id: str) -> FileResponse:
        row = one(submission_rows(), public_id=public_id)
        if not agent_source_visible(row.agent, viewer_of(request)):
            raise PermissionDenied(PRIVATE)
        if row.deleted_at is not None:
            raise NotStored("The owner has deleted this version.")
        name = f"{row.agent.name}-v{row.number}.zip"
        file = file_get(row.archive, "This archive is")
        return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def submission_uploaded(request: Request, submission: Submission, notes: list[str]) -> Response:
    """Answer an upload with the submission as its owner sees it. notes: sentences for the uploader.

    The status is 200 for files that were sent before, and 201 for a new version.
    """
    row = submission_rows().get(pk=submission.pk)
    return Response(
        UploadAnswer(row, context={"request": request, "notes": notes}).data,
        status=200 if submission.is_repeat else 201,
    )
