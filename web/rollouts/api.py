"""The native API of applications: packages, tasks, models and analytics."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_kit.rollout.tasks.file import MOST_BYTES
from core.courses.sight import seen
from core.models import AuditEntry, Environment, LanguageModel, Package, Task, TaskSplit
from core.people.audit_log import operator_of
from core.people.rights import may
from core.rollouts.acceptance import acceptance_ask
from core.rollouts.figures import analytics
from core.rollouts.packages import package_upload
from core.rollouts.permissions import answers_visible, models_for
from core.rollouts.selectors import TaskFilter, application_list, tasks_current, tasks_filtered
from core.rollouts.tasks import tasks_upload
from web.api.base import Acting, Listed, checked, one, refusals
from web.api.parsers import BoundedFormParser
from web.api.schema import OBJECTS
from web.rollouts.batch_api import LONGEST_NAME
from web.site.requests import viewer_of
from web.site.throttling import AccountThrottle, StrangerThrottle, UploadThrottle

UNSEEN = "null for people who may not see the answer, which could be found by trying hashes"
NO_APPLICATION = OpenApiResponse(description="There is no such application.")


class PackageAnswer(serializers.Serializer[Any]):
    environment = serializers.CharField(source="environment.slug")
    number = serializers.IntegerField()
    sha256 = serializers.CharField(source="archive_sha256")
    bytes = serializers.IntegerField(source="archive_bytes")
    memory_bytes = serializers.IntegerField()
    is_public = serializers.BooleanField()
    manifest = serializers.JSONField(help_text="Name, description, origins, names of logins, services, limits.")
    build = serializers.SerializerMethodField(help_text="State of its newest build.")
    error = serializers.SerializerMethodField(help_text="Why that failed, for organisers.")
    created_at = serializers.DateTimeField()

    def get_build(self, row: Package) -> str | None:
        newest = max(row.builds.all(), key=lambda build: build.pk, default=None)
        return None if newest is None else newest.state

    def get_error(self, row: Package) -> str | None:
        newest = max(row.builds.all(), key=lambda build: build.pk, default=None)
        sees_error = may(viewer_of(self.context["request"]), "core.view_packagebuild")
        return newest.error if newest is not None and sees_error else None


class PackageFilter(filters.FilterSet):
    environment = filters.CharFilter(field_name="environment__slug")

    class Meta:
        model = Package
        fields = ["environment"]


class PackageUpload(serializers.Serializer[Any]):
    archive = serializers.FileField()
    is_public = serializers.BooleanField(default=False)
    note = serializers.CharField(default="", allow_blank=True, max_length=200)


class PackageList(Acting, Listed[Package]):
    """The packages of applications, newest first. POST uploads one; organisers may."""

    tag = "rollouts"
    serializer_class = PackageAnswer
    filterset_class = PackageFilter
    parser_classes = [MultiPartParser, BoundedFormParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    def get_queryset(self) -> QuerySet[Package]:
        return Package.objects.select_related("environment").prefetch_related("builds").order_by("-pk")

    @extend_schema(request={"multipart/form-data": PackageUpload}, responses={200: PackageAnswer, 201: PackageAnswer})
    def post(self, request: Request) -> Response:
        """Upload a package, with its tasks; it is built next."""
        account, sent = self.account(request), checked(PackageUpload, request)
        with refusals():
            package, is_new = package_upload(
                owner=account, operator=operator_of(request, AuditEntry.Channel.API), **sent
            )
        answer = PackageAnswer(package, context={"request": request})
        return Response(answer.data, status=201 if is_new else 200)


class TaskAnswer(serializers.Serializer[Any]):
    id = serializers.CharField(source="name", help_text="A member's task is ID@USERNAME.")
    environment = serializers.CharField(source="environment.slug")
    revision = serializers.IntegerField()
    instruction = serializers.CharField()
    split = serializers.ChoiceField(choices=TaskSplit.choices)
    difficulty = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    acceptance = serializers.CharField()
    verified_at = serializers.DateTimeField(allow_null=True)
    fingerprint = serializers.SerializerMethodField(help_text=f"Equal for duplicates; {UNSEEN}.")
    work_sha256 = serializers.SerializerMethodField(
        help_text=f"Equal for revisions whose results are comparable; {UNSEEN}."
    )
    rollout_count = serializers.IntegerField()
    attempt_count = serializers.IntegerField()
    solved_count = serializers.IntegerField()
    definition = serializers.SerializerMethodField(
        help_text=f"All keys of the file with answer, checks and oracle; {UNSEEN}."
    )
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)

    def get_fingerprint(self, row: Task) -> str | None:
        return row.fingerprint if self._sees_answers(row) else None

    def get_work_sha256(self, row: Task) -> str | None:
        return row.work_sha256 if self._sees_answers(row) else None

    def get_definition(self, row: Task) -> dict[str, Any] | None:
        found: dict[str, Any] = row.definition
        return found if self._sees_answers(row) else None

    def _sees_answers(self, row: Task) -> bool:
        return answers_visible(row, viewer_of(self.context["request"]))


class TaskQuery(serializers.Serializer[Any]):
    environment = serializers.SlugField(required=False, default="")
    query = serializers.CharField(required=False, default="", max_length=200)
    tag = serializers.CharField(required=False, default="", max_length=40)
    difficulty = serializers.CharField(required=False, default="", max_length=10)
    split = serializers.ChoiceField(choices=TaskSplit.choices, required=False, default="")
    acceptance = serializers.ChoiceField(choices=("ACCEPTED", "REFUSED"), required=False, default="")
    duplicates = serializers.BooleanField(required=False, default=False)
    often = serializers.ChoiceField(choices=("always", "sometimes", "never"), required=False, default="")
    archived = serializers.BooleanField(required=False, default=False)


class NativeTaskUpload(serializers.Serializer[Any]):
    environment = serializers.SlugField()
    file = serializers.FileField()
    allow_duplicates = serializers.BooleanField(default=False)


class TaskTestRequest(serializers.Serializer[Any]):
    environment = serializers.SlugField()
    tasks = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME),
        default=list,
        max_length=2_000,
        help_text="Ids, or ID@USERNAME; without it all of your own tasks that have not been tested.",
    )


class TaskList(Acting, Listed[Task]):
    """The current tasks that you may see. POST uploads a tasks.json."""

    tag = "rollouts"
    serializer_class = TaskAnswer
    filter_backends: Any = []
    parser_classes = [MultiPartParser, BoundedFormParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    def get_queryset(self) -> QuerySet[Task]:
        if getattr(self, "swagger_fake_view", False):
            return Task.objects.none()
        query = TaskQuery(data=self.request.query_params)
        query.is_valid(raise_exception=True)
        wanted: dict[str, Any] = dict(query.validated_data)
        slug = wanted.pop("environment")
        seen = tasks_current(viewer_of(self.request), archived=wanted["archived"])
        rows = tasks_filtered(seen, TaskFilter(**wanted))
        return rows.filter(environment__slug=slug) if slug else rows

    @extend_schema(parameters=[TaskQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List tasks, by application and id."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        request={"multipart/form-data": NativeTaskUpload}, responses={201: OpenApiTypes.OBJECT, 404: NO_APPLICATION}
    )
    def post(self, request: Request) -> Response:
        """Upload tasks; the answer says what was created, revised, unchanged, a duplicate, or skipped, and why."""
        account, sent = self.account(request), checked(NativeTaskUpload, request)
        environment = one(seen(Environment.objects.filter(kind="APP"), viewer_of(request)), slug=sent["environment"])
        with refusals():
            uploaded = tasks_upload(
                owner=account,
                environment=environment,
                data=sent["file"].read(MOST_BYTES + 1),
                allow_duplicates=sent["allow_duplicates"],
                operator=operator_of(request, AuditEntry.Channel.API),
            )
        return Response(uploaded.file.report, status=201)


class TaskTests(Acting):
    """Tests of members' tasks: the oracle of a task must solve it, and doing nothing must not."""

    tag = "rollouts"

    @extend_schema(request=TaskTestRequest, responses={201: OpenApiTypes.OBJECT, 404: NO_APPLICATION})
    def post(self, request: Request) -> Response:
        """Have tasks tested when no other rollout waits; the rollouts are charged to you. Answers how many tasks."""
        account, sent = self.account(request), checked(TaskTestRequest, request)
        environment = one(seen(Environment.objects.filter(kind="APP"), viewer_of(request)), slug=sent["environment"])
        with refusals():
            count = acceptance_ask(by=account, environment=environment, names=sent["tasks"])
        return Response({"tasks": count}, status=201)


class ModelAnswer(serializers.Serializer[Any]):
    name = serializers.CharField()
    model_id = serializers.CharField()
    price_in_micros = serializers.IntegerField(help_text="Millionths of the unit for a million tokens.")
    price_cached_micros = serializers.IntegerField()
    price_out_micros = serializers.IntegerField()


class ModelList(Listed[LanguageModel]):
    """The language models that you may choose. Instructions of tasks are sent to their providers."""

    tag = "rollouts"
    serializer_class = ModelAnswer

    def get_queryset(self) -> QuerySet[LanguageModel]:
        return models_for(viewer_of(self.request))


@extend_schema(parameters=[OpenApiParameter("slug", OpenApiTypes.STR, OpenApiParameter.PATH)])
class ApplicationAnalytics(APIView):
    """The analytics of an application's tasks; hidden tasks are left out."""

    tag = "rollouts"

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, slug: str) -> Response:
        """Show how often tasks are solved, and at which agents differ."""
        environment = one(Environment.objects.filter(kind="APP"), slug=slug)
        found = analytics(environment, viewer_of(request))
        return Response(
            {
                "often": {key: each.value for key, each in found.often.items()},
                "disagreements": [{"task": key, "by": by} for key, by in found.disagreements],
                "only_by_oracle": list(found.only_by_oracle),
            }
        )


class ApplicationList(APIView):
    """The applications of this arena."""

    tag = "rollouts"

    @extend_schema(responses=OBJECTS)
    def get(self, request: Request) -> Response:
        """List them by name."""
        return Response(
            [
                {"slug": row.slug, "name": row.name, "is_available": row.is_available}
                for row in application_list(viewer_of(request))
            ]
        )
