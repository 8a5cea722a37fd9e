"""Webhooks of organisers, and their deliveries."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from core.models import Delivery, User, Webhook
from core.notices.deliveries import webhook_forget, webhook_prepare
from web.admin.base import ModelAdmin, ReadOnlyAdmin, admin_action
from web.organise.actions.operation import SEND_AGAIN, TEST
from web.organise.webhook_forms import WebhookForm


@admin.register(Webhook)
class WebhookAdmin(ModelAdmin[Webhook]):
    form = WebhookForm
    list_display = ("name", "host", "format", "environment", "is_active", "created_by", "created_at")
    list_filter = ("is_active", "format")
    list_select_related = ("environment", "created_by")
    search_fields = ("name",)
    actions = ("send_test",)

    def get_fields(self, request: HttpRequest, obj: Webhook | None = None) -> tuple[str, ...]:
        """Leave out the secret address for organisers who may only view: they get columns instead of the form."""
        fields = ("name", "format", "secret_url", "kinds", "environment", "is_active")
        is_form = obj is None or self.has_change_permission(request, obj)
        return fields if is_form else tuple(name for name in fields if name != "secret_url")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a webhook with its deliveries, which cannot be deleted separately."""
        rows, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return rows, counts, forbidden - {Delivery._meta.verbose_name}, protected

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        key = obj.pk
        super().delete_model(request, obj)
        webhook_forget(webhook_id=key)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        keys = list(queryset.values_list("pk", flat=True))
        super().delete_queryset(request, queryset)
        for key in keys:
            webhook_forget(webhook_id=key)

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        if not change:
            assert isinstance(request.user, User)
            secret = webhook_prepare(webhook=obj, created_by=request.user)
            self.message_user(
                request,
                f"The secret of this webhook is {secret}. Copy it now: it is never shown again.",
                messages.WARNING,
            )
        super().save_model(request, obj, form, change)

    send_test = admin_action(TEST)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin[Delivery]):
    list_display = ("id", "kind", "webhook", "state", "attempt", "response_code", "error", "next_at",
                    "created_at", "done_at")  # fmt: skip
    list_filter = ("state", "kind", "webhook")
    list_select_related = ("webhook",)
    search_fields = ("event_id",)
    date_hierarchy = "created_at"
    actions = ("send_again",)

    send_again = admin_action(SEND_AGAIN)
