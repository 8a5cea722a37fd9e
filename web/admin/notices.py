"""Notices, people's choices about them, letters, and alarms for the organisers."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse

from core.models import Alarm, Letter, Notice, NoticeChoice
from web.admin.base import ReadOnlyAdmin, admin_action
from web.organise.actions.operation import SETTLE


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin[Notice]):
    list_display = ("title", "user", "kind", "created_at", "read_at", "mail_next_at", "mailed_at", "mail_error")
    list_filter = ("kind", ("mail_next_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    search_fields = ("title", "user__username")
    date_hierarchy = "created_at"


@admin.register(NoticeChoice)
class NoticeChoiceAdmin(ReadOnlyAdmin[NoticeChoice]):
    list_display = ("user", "kind", "in_inbox", "by_mail")
    list_filter = ("kind",)
    list_select_related = ("user",)
    search_fields = ("user__username",)


@admin.register(Letter)
class LetterAdmin(ReadOnlyAdmin[Letter]):
    list_display = ("id", "kind", "email", "created_at", "mail_attempt", "mail_next_at", "mail_error")
    list_filter = ("kind",)
    search_fields = ("email",)


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
