"""The API of quotas: what is left of them, and when they reset."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.courses.sight import seen
from core.listing import environment_rows
from core.models import QuotaName
from core.people.quota_selectors import quota_lists
from web.api.base import Acting


class QuotaAnswer(serializers.Serializer[Any]):
    """One quota. Quotas without a limit are not listed."""

    name = serializers.ChoiceField(choices=QuotaName.choices)
    limit = serializers.IntegerField()
    used = serializers.IntegerField(
        allow_null=True, help_text="null for a limit on each upload's size, which has no sum."
    )
    left = serializers.IntegerField()
    resets_at = serializers.DateTimeField(
        allow_null=True, help_text="When the whole quota is available again; null: see the documentation."
    )


class EnvironmentQuotasAnswer(serializers.Serializer[Any]):
    environment = serializers.CharField(help_text="Slug of the environment.")
    quotas = QuotaAnswer(many=True)


class MyQuotas(Acting):
    """Your quotas."""

    tag = "agents"

    @extend_schema(responses=EnvironmentQuotasAnswer(many=True))
    def get(self, request: Request) -> Response:
        """Your quotas in every environment that accepts uploads."""
        account = self.account(request)
        environments = seen(environment_rows().filter(is_active=True), account)
        lists = quota_lists(account, environments, now=timezone.now())
        rows = [{"environment": environment.slug, "quotas": quotas} for environment, quotas in lists]
        return Response(EnvironmentQuotasAnswer(rows, many=True).data)
