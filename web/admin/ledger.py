"""The ledger and the tables derived from it, read-only. Corrections are made by voiding a duel."""

from __future__ import annotations

from datetime import UTC

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from core.models import LedgerEntry, LedgerVoid, Lens, Rating, RatingPoint, RatingPool
from web.admin.base import ReadOnlyAdmin, Row


class AppendOnlyAdmin(ReadOnlyAdmin[Row]):
    def has_change_permission(self, request: HttpRequest, obj: Row | None = None) -> bool:
        return False


@admin.register(LedgerEntry)
class LedgerEntryAdmin(AppendOnlyAdmin[LedgerEntry]):
    list_display = ("id", "duel_id", "submission", "opponent", "seat", "wins", "losses", "draws", "errors",
                    "opponent_errors", "score", "is_struck", "created_at")  # fmt: skip
    list_filter = ("duel__tournament__environment", "seat", ("duel__void", admin.EmptyFieldListFilter))
    list_select_related = ("submission__agent", "opponent__agent", "duel__void")
    search_fields = ("submission__agent__name", "opponent__agent__name", "=duel__id")
    date_hierarchy = "created_at"
    ordering = ("-pk",)

    def view_on_site(self, entry: LedgerEntry) -> str:
        return reverse("web:duel", args=[entry.duel_id])

    @admin.display(description="void")
    def is_struck(self, entry: LedgerEntry) -> str:
        return "void" if hasattr(entry.duel, "void") else ""


@admin.register(LedgerVoid)
class LedgerVoidAdmin(AppendOnlyAdmin[LedgerVoid]):
    list_display = ("duel", "reason", "created_by", "created_at")
    list_filter = ("duel__tournament__environment",)
    list_select_related = ("duel__player_1__agent", "duel__player_2__agent", "created_by")
    search_fields = ("reason", "=duel__id", "duel__player_1__agent__name", "duel__player_2__agent__name")
    date_hierarchy = "created_at"
    ordering = ("-pk",)

    def view_on_site(self, void: LedgerVoid) -> str:
        return reverse("web:duel", args=[void.duel_id])


@admin.register(Rating)
class RatingAdmin(AppendOnlyAdmin[Rating]):
    list_display = ("submission", "environment", "rank", "value", "low", "high", "live", "duel_count", "updated_at")
    list_filter = ("submission__agent__environment",)
    list_select_related = ("submission__agent__environment",)
    search_fields = ("submission__agent__name", "submission__agent__owner__username")
    date_hierarchy = "updated_at"

    def view_on_site(self, rating: Rating) -> str:
        agent = rating.submission.agent
        return reverse("web:agent", args=[agent.environment.slug, agent.name])

    @admin.display(ordering="submission__agent__environment")
    def environment(self, rating: Rating) -> str:
        return str(rating.submission.agent.environment)


@admin.register(RatingPoint)
class RatingPointAdmin(AppendOnlyAdmin[RatingPoint]):
    list_display = ("at", "submission", "environment", "rank", "value", "low", "high", "live")
    list_filter = ("environment",)
    list_select_related = ("submission__agent", "environment")
    search_fields = ("submission__agent__name", "submission__agent__owner__username")
    date_hierarchy = "at"
    ordering = ("-at", "-pk")

    def view_on_site(self, point: RatingPoint) -> str:
        at = point.at.astimezone(UTC).isoformat()
        return f"{reverse('web:environment', args=[point.environment.slug])}?{urlencode({'as_of': at})}"


@admin.register(RatingPool)
class RatingPoolAdmin(AppendOnlyAdmin[RatingPool]):
    list_display = ("environment", "duel_count", "ledger_version", "spread", "first_seat", "first_seat_low",
                    "first_seat_high", "is_connected", "fitted_at", "fit_seconds")  # fmt: skip
    list_filter = ("is_connected",)
    list_select_related = ("environment",)
    search_fields = ("environment__name", "environment__slug")
    ordering = ("environment__name",)

    def view_on_site(self, pool: RatingPool) -> str:
        return reverse("web:environment", args=[pool.environment.slug])


@admin.register(Lens)
class LensAdmin(AppendOnlyAdmin[Lens]):
    list_display = ("environment", "pair_count", "clear_count", "cycle_count", "computed_at")
    list_select_related = ("environment",)
    search_fields = ("environment__name", "environment__slug")
    ordering = ("environment__name",)

    def view_on_site(self, lens: Lens) -> str:
        return reverse("web:lens", args=[lens.environment.slug])
