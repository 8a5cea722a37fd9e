"""Editions, and who takes part."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from core.admin.base import Question, ReadOnlyAdmin, ReadOnlyInline, ask, do_each, links
from core.errors import Refused
from core.models import Duel, JobState, Participant, Tournament, TournamentState
from core.services.tournaments import tournament_cancel

CANCEL = Question(
    title="Cancel editions",
    consequence="What has been played stays in the table; all other duels of the edition are cancelled for good.",
    button="Cancel the edition",
    reason="Reason, shown on the cancelled duels",
)


class ParticipantInline(ReadOnlyInline[Participant, Tournament]):
    model = Participant
    fields = readonly_fields = ("rank", "submission", "points", "wins", "draws", "losses", "total_score", "rating")
    extra = 0
    can_delete = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Participant]:
        return super().get_queryset(request).select_related("submission__agent", "tournament__environment")

    def has_add_permission(self, request: HttpRequest, obj: Tournament | None = None) -> bool:
        return False


@admin.register(Tournament)
class TournamentAdmin(ReadOnlyAdmin[Tournament]):
    list_display = ("__str__", "environment", "edition", "state", "participants", "duels", "void", "started_at",
                    "ended_at")  # fmt: skip
    list_filter = ("environment", "state")
    list_select_related = ("environment",)
    search_fields = ("=edition", "environment__name", "environment__slug")
    date_hierarchy = "started_at"
    ordering = ("-started_at",)
    inlines = (ParticipantInline,)
    actions = ("cancel",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tournament]:
        over = Q(state__in=[JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
        void = Q(state__in=[JobState.FAILED, JobState.CANCELLED]) | Q(void__isnull=False)
        return (
            super()
            .get_queryset(request)
            .annotate(
                participant_count=_count(Participant.objects.all()),
                duel_count=_count(Duel.objects.all()),
                over_count=_count(Duel.objects.filter(over)),
                void_count=_count(Duel.objects.filter(void)),
            )
        )

    def view_on_site(self, tournament: Tournament) -> str:
        return reverse("web:edition", args=[tournament.environment.slug, tournament.edition])

    @admin.display
    def participants(self, tournament: Tournament) -> int:
        return int(getattr(tournament, "participant_count", 0))

    @admin.display
    def duels(self, tournament: Tournament) -> SafeString:
        address = reverse("admin:core_duel_changelist") + f"?tournament__id__exact={tournament.pk}"
        over, total = getattr(tournament, "over_count", 0), getattr(tournament, "duel_count", 0)
        return links((address, f"{over} of {total} over"))

    @admin.display
    def void(self, tournament: Tournament) -> int:
        return int(getattr(tournament, "void_count", 0))

    @admin.action(description="Cancel, with a reason", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Tournament]) -> HttpResponse | None:
        answer = ask(self, request, queryset, CANCEL)
        if isinstance(answer, HttpResponse):
            return answer

        def action(tournament: Tournament) -> str:
            if tournament.state != TournamentState.RUNNING:
                raise Refused("It is not running.")
            tournament_cancel(tournament=tournament, reason=answer)
            return "is cancelled; what has been played stays."

        do_each(self, request, queryset, action)
        return None


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


def _count(rows: QuerySet[Participant] | QuerySet[Duel]) -> Coalesce:
    """How many of the rows belong to each tournament of the outer query: one join each, not their product."""
    grouped = rows.filter(tournament=OuterRef("pk")).order_by().values("tournament").annotate(count=Count("pk"))
    return Coalesce(Subquery(grouped.values("count"), output_field=IntegerField()), 0)
