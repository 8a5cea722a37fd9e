"""Runs of programs, read-only."""

from __future__ import annotations

from django.contrib import admin

from core.models import Run
from web.admin.base import ReadOnlyAdmin


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin[Run]):
    list_display = ("id", "key", "caller", "duel", "evaluation", "created_at", "expires_at")
    list_filter = ("duel__state", "duel__player_1__agent__environment")
    list_select_related = ("caller", "evaluation__submission__agent", "duel__player_1__agent", "duel__player_2__agent")
    search_fields = ("key", "caller__username")
    date_hierarchy = "created_at"
