"""Webhooks of organisers, and their deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from core.models import Delivery, EventKind, User, Webhook
from core.notices.deliveries import webhook_forget, webhook_prepare
from core.notices.outgoing import address_problem
from web.admin.base import ModelAdmin, ReadOnlyAdmin, admin_action
from web.organise.actions.operation import SEND_AGAIN, TEST

if TYPE_CHECKING:
    WebhookModelForm = forms.ModelForm[Webhook]
else:
    WebhookModelForm = forms.ModelForm  # not generic at run time

KINDS = [(kind.value, kind.label) for kind in EventKind if kind != EventKind.TEST]


class WebhookForm(WebhookModelForm):
    """The form of a webhook. It never shows the stored address, but accepts a new one."""

    kinds = forms.MultipleChoiceField(choices=KINDS, widget=forms.CheckboxSelectMultiple, label="Events")

    class Meta:
        model = Webhook
        fields = ("name", "format", "secret_url", "kinds", "environment", "is_active")
        widgets = {"secret_url": forms.PasswordInput(attrs={"size": 80, "autocomplete": "off"})}

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Organisers without the right to change get a form without fields.
        if "secret_url" in self.fields and not self.instance._state.adding:
            self.fields["secret_url"].required = False
            self.fields[
                "secret_url"
            ].help_text = f"The current address is at {self.instance.host}. Leave empty to keep it."

    def clean_secret_url(self) -> str:
        url: str = self.cleaned_data["secret_url"].strip()
        if not url:
            return self.instance.secret_url
        if problem := address_problem(url):
            raise ValidationError(problem)
        return url


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
