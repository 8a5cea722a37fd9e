"""Participants and registrations of tournaments."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from core.models import Participant, Registration, Tournament
from web.admin.base import ReadOnlyAdmin, ReadOnlyInline


class ParticipantInline(ReadOnlyInline[Participant, Tournament]):
    model = Participant
    fields = readonly_fields = ("rank", "submission", "points", "wins", "draws", "losses", "total_score", "rating")
    extra = 0
    can_delete = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Participant]:
        return super().get_queryset(request).select_related("submission__agent", "tournament__environment")

    def has_add_permission(self, request: HttpRequest, obj: Tournament | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Tournament | None = None) -> bool:
        return False


class RegistrationInline(ReadOnlyInline[Registration, Tournament]):
    model = Registration
    fields = readonly_fields = ("agent", "created_at")
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Tournament | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Tournament | None = None) -> bool:
        return False


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin[Participant]):
    list_display = ("submission", "tournament", "rank", "points", "wins", "draws", "losses", "total_score", "rating")
    list_filter = ("tournament__environment", "tournament__state")
    list_select_related = ("submission__agent", "tournament__environment")
    search_fields = ("submission__agent__name", "=tournament__edition")
    date_hierarchy = "tournament__started_at"
    ordering = ("-tournament__started_at", "rank")

    def view_on_site(self, row: Participant) -> str:
        tournament = row.tournament
        return reverse(
            "web:participant", args=[tournament.environment.slug, tournament.edition, row.submission.agent.name]
        )


@admin.register(Registration)
class RegistrationAdmin(ReadOnlyAdmin[Registration]):
    list_display = ("id", "agent", "tournament", "created_at")
    list_filter = ("tournament__environment",)
    list_select_related = ("agent", "tournament__environment")
    search_fields = ("agent__name", "agent__owner__username")
    date_hierarchy = "created_at"
