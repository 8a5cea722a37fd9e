"""Matches of people against agents."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse

from core.models import Sitting
from web.admin.jobs import JobAdmin


@admin.register(Sitting)
class SittingAdmin(JobAdmin[Sitting]):
    list_display = ("id", "user", "submission", "state", "outcome", "error_code", "worker", "created_at", "took")
    list_display_links = ("id", "user")
    list_filter = (*JobAdmin.list_filter, "outcome", "submission__agent__environment")
    list_select_related = ("user", "submission__agent")
    search_fields = ("=public_id", "user__username", "submission__agent__name", "error", "worker")
    exclude = (*JobAdmin.exclude, "records", "player_1_log", "player_2_log", "address_digest")

    def view_on_site(self, sitting: Sitting) -> str:
        return reverse("web:sitting", args=[sitting.public_id])
