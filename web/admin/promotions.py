"""Promotions, the tests of new versions against the active one, read-only."""

from __future__ import annotations

from django.contrib import admin

from core.models import Promotion
from web.admin.base import ReadOnlyAdmin


@admin.register(Promotion)
class PromotionAdmin(ReadOnlyAdmin[Promotion]):
    list_display = ("id", "candidate", "incumbent", "state", "created_at", "decided_at")
    list_filter = ("state", "candidate__agent__environment")
    list_select_related = ("candidate__agent", "incumbent__agent")
    search_fields = ("candidate__agent__name",)
    date_hierarchy = "created_at"
