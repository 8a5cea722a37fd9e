"""Quotas: what of them is left, and when they are there again."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.listing import environment_rows
from core.models import QuotaName
from core.people.quota_selectors import quota_lists
from web.api.views import Acting


class QuotaAnswer(serializers.Serializer[Any]):
    """Only what is limited is listed."""

    name = serializers.ChoiceField(choices=QuotaName.choices)
    limit = serializers.IntegerField()
    used = serializers.IntegerField(allow_null=True, help_text="null where nothing adds up: the size of one upload.")
    left = serializers.IntegerField()
    resets_at = serializers.DateTimeField(allow_null=True, help_text="When all of it is there again; null: see docs.")


class EnvironmentQuotasAnswer(serializers.Serializer[Any]):
    environment = serializers.CharField(help_text="Slug of the environment.")
    quotas = QuotaAnswer(many=True)


class MyQuotas(Acting):
    """What you may still use."""

    tag = "agents"

    @extend_schema(responses=EnvironmentQuotasAnswer(many=True))
    def get(self, request: Request) -> Response:
        """What you may still use, for every open environment."""
        environments = environment_rows().filter(is_active=True)
        lists = quota_lists(self.account(request), environments, now=timezone.now())
        rows = [{"environment": environment.slug, "quotas": quotas} for environment, quotas in lists]
        return Response(EnvironmentQuotasAnswer(rows, many=True).data)
