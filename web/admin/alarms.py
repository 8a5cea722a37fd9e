"""Alarms that the watchdog and other checks raise for the organisers."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from core.models import Alarm
from core.notices.alarms import alarm_settle
from web.admin.base import ReadOnlyAdmin, do_each


@admin.register(Alarm)
class AlarmAdmin(ReadOnlyAdmin[Alarm]):
    list_display = ("key", "message", "raised_at", "settled_at")
    list_filter = (("settled_at", admin.EmptyFieldListFilter),)
    search_fields = ("key", "message")
    date_hierarchy = "raised_at"
    actions = ("settle",)

    def view_on_site(self, alarm: Alarm) -> str:
        return alarm.address or reverse("admin:core_alarm_changelist")

    @admin.action(description="Settle: the cause has been dealt with", permissions=["change"])
    def settle(self, request: HttpRequest, queryset: QuerySet[Alarm]) -> None:
        def action(alarm: Alarm) -> str:
            alarm_settle(key=alarm.key)
            return "is settled."

        do_each(self, request, queryset, action)
