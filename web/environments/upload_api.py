"""The API with which organisers upload folders of environments and read their verdicts."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from core.environments.trials import environment_upload, trial_report
from core.models import AuditEntry, EnvironmentTrial
from core.people.audit_log import operator_of
from core.submissions.visibility import jobs_visible
from web.api.base import Acting, Listed, Shown, checked, refusals
from web.api.parsers import BoundedFormParser
from web.site.requests import viewer_of
from web.site.throttling import AccountThrottle, StrangerThrottle, UploadThrottle


class FolderAnswer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    slug = serializers.CharField()
    version = serializers.IntegerField()
    state = serializers.CharField()
    error = serializers.CharField()
    sha256 = serializers.CharField(source="archive_sha256")
    created_at = serializers.DateTimeField()
    live_at = serializers.DateTimeField(allow_null=True)


class VerdictAnswer(serializers.Serializer[Any]):
    about = serializers.CharField()
    mark = serializers.ChoiceField(choices=["good", "look", "bad"])
    sentence = serializers.CharField()


class FolderShownAnswer(FolderAnswer):
    lines = serializers.SerializerMethodField(help_text="The verdict; empty before the trial is over.")

    @extend_schema_field(VerdictAnswer(many=True))
    def get_lines(self, row: EnvironmentTrial) -> Any:
        report = trial_report(row)
        return VerdictAnswer(report.lines if report else (), many=True).data


class FolderUpload(serializers.Serializer[Any]):
    archive = serializers.FileField()


def _rows(request: Request) -> QuerySet[EnvironmentTrial]:
    return jobs_visible(EnvironmentTrial.objects.order_by("-pk").defer("log"), viewer_of(request))


class FolderList(Acting, Listed[EnvironmentTrial]):
    """Uploaded folders of environments, newest first, for organisers. POST uploads one, which is tried next."""

    tag = "environments"
    serializer_class = FolderAnswer
    parser_classes = [MultiPartParser, BoundedFormParser]
    throttle_classes = [StrangerThrottle, AccountThrottle, UploadThrottle]

    def get_queryset(self) -> QuerySet[EnvironmentTrial]:
        return _rows(self.request)

    @extend_schema(request={"multipart/form-data": FolderUpload}, responses={201: FolderAnswer})
    def post(self, request: Request) -> Response:
        """Upload a folder; a superuser puts it live on the site."""
        account, sent = self.account(request), checked(FolderUpload, request)
        with refusals():
            trial = environment_upload(owner=account, operator=operator_of(request, AuditEntry.Channel.API), **sent)
        return Response(FolderAnswer(trial).data, status=201)


class FolderShown(Shown[EnvironmentTrial]):
    """An uploaded folder, with its verdict line by line."""

    tag = "environments"
    serializer_class = FolderShownAnswer

    def get_queryset(self) -> QuerySet[EnvironmentTrial]:
        return _rows(self.request)
