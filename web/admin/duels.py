"""Duels, with actions to void them and to play them again; what asks for them, and sittings."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from core.models import Analysis, Challenge, Duel, PlayedJob, Promotion, Run, Sitting
from web.admin.base import ReadOnlyAdmin, admin_action, links, text_block
from web.admin.jobs import JobAdmin
from web.organise.actions.duels import PLAY_AGAIN, VOID


@admin.register(Analysis)
class AnalysisAdmin(JobAdmin[Analysis]):
    list_display = ("id", "duel", "match_number", "state", "asked_by", "error_code", "worker", "created_at", "took")
    list_display_links = ("id", "duel")
    list_select_related = ("duel__player_1__agent", "duel__player_2__agent", "asked_by")
    search_fields = ("=duel__id", "asked_by__username", "error", "worker")

    def view_on_site(self, analysis: Analysis) -> str:
        return f"{reverse('web:match', args=[analysis.duel_id, analysis.match_number])}#analysis"


@admin.register(Duel)
class DuelAdmin(JobAdmin[Duel]):
    list_display = ("id", "player_1", "player_2", "state", "result", "is_struck", "verdict", "error_code", "tournament",
                    "number", "matches", "worker", "created_at", "took")  # fmt: skip
    list_filter = (*JobAdmin.list_filter, "outcome", "verdict", ("void", admin.EmptyFieldListFilter),
                   "tournament__environment")  # fmt: skip
    list_select_related = ("tournament__environment", "player_1__agent", "player_2__agent", "void")
    search_fields = ("=id", "player_1__agent__name", "player_2__agent__name", "error", "worker")
    exclude = (*JobAdmin.exclude, "records", "player_1_log", "player_2_log")
    readonly_fields = (*JobAdmin.readonly_fields, "is_struck", "files")
    actions = ("requeue", "prioritise", "cancel", "void", "run_again")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Duel]:
        return super().get_queryset(request)

    def view_on_site(self, duel: Duel) -> str:
        return reverse("web:duel", args=[duel.pk])

    @admin.display(description="result")
    def result(self, duel: Duel) -> str:
        if not duel.outcome:
            return "–"
        wins = f"{duel.player_1_wins} : {duel.player_2_wins}, {duel.draws} drawn"
        errors = duel.player_1_errors + duel.player_2_errors
        return (f"{wins}, {errors} forfeited" if errors else wins).replace(" ", "\N{NO-BREAK SPACE}")

    @admin.display(description="matches")
    def matches(self, duel: PlayedJob) -> str:
        return f"{duel.matches_done} of {duel.match_count}"

    @admin.display(description="void")
    def is_struck(self, duel: Duel) -> str:
        return "void" if duel.is_void else ""

    @admin.display
    def files(self, duel: Duel) -> SafeString:
        if not duel.records:
            return text_block("")
        pairs = [("web:duel_results", "results"), ("web:duel_records", "records")]
        logs = [(reverse("web:duel_log", args=[duel.pk, f"player_{n}"]), f"log of player {n}") for n in (1, 2)]
        return links(*((reverse(name, args=[duel.pk]), title) for name, title in pairs), *logs)

    void = admin_action(VOID)
    run_again = admin_action(PLAY_AGAIN)


@admin.register(Challenge)
class ChallengeAdmin(ReadOnlyAdmin[Challenge]):
    list_display = ("id", "submission", "kind", "user", "created_at", "ended_at")
    list_filter = ("kind", "submission__agent__environment")
    list_select_related = ("submission__agent", "user")
    search_fields = ("submission__agent__name", "user__username")
    date_hierarchy = "created_at"


@admin.register(Promotion)
class PromotionAdmin(ReadOnlyAdmin[Promotion]):
    list_display = ("id", "candidate", "incumbent", "state", "created_at", "decided_at")
    list_filter = ("state", "candidate__agent__environment")
    list_select_related = ("candidate__agent", "incumbent__agent")
    search_fields = ("candidate__agent__name",)
    date_hierarchy = "created_at"


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin[Run]):
    list_display = ("id", "key", "caller", "duel", "evaluation", "created_at", "expires_at")
    list_filter = ("duel__state", "duel__player_1__agent__environment")
    list_select_related = ("caller", "evaluation__submission__agent", "duel__player_1__agent", "duel__player_2__agent")
    search_fields = ("key", "caller__username")
    date_hierarchy = "created_at"


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
