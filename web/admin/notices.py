"""Notices, people's choices about them, and letters, read-only."""

from __future__ import annotations

from django.contrib import admin

from core.models import Letter, Notice, NoticeChoice
from web.admin.base import ReadOnlyAdmin


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
