"""Alarms that the watchdog and other checks raise for the organisers."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse

from core.models import Alarm
from web.admin.base import ReadOnlyAdmin, admin_action
from web.organise.actions.operation import SETTLE


@admin.register(Alarm)
class AlarmAdmin(ReadOnlyAdmin[Alarm]):
    list_display = ("key", "message", "raised_at", "settled_at")
    list_filter = (("settled_at", admin.EmptyFieldListFilter),)
    search_fields = ("key", "message")
    date_hierarchy = "raised_at"
    actions = ("settle",)

    def view_on_site(self, alarm: Alarm) -> str:
        return alarm.address or reverse("admin:core_alarm_changelist")

    settle = admin_action(SETTLE)
