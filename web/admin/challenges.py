"""Challenges, read-only."""

from __future__ import annotations

from django.contrib import admin

from core.models import Challenge
from web.admin.base import ReadOnlyAdmin


@admin.register(Challenge)
class ChallengeAdmin(ReadOnlyAdmin[Challenge]):
    list_display = ("id", "submission", "kind", "user", "created_at", "ended_at")
    list_filter = ("kind", "submission__agent__environment")
    list_select_related = ("submission__agent", "user")
    search_fields = ("submission__agent__name", "user__username")
    date_hierarchy = "created_at"
