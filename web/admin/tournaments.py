"""Tournaments of organisers and editions of the arena."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from core.errors import Refused
from core.models import Audience, Duel, JobState, Participant, Season, Tournament, TournamentState, User
from core.tournaments.planning import tournament_plan, tournament_relabel, tournament_replan
from web.admin.base import NamedTimesAdmin, admin_action, links
from web.admin.participants import ParticipantInline, RegistrationInline
from web.organise.actions.tournaments import BEGIN, CALL_OFF, CANCEL, END_LADDER, RELEASE, VOID_ROUND
from web.organise.format_forms import Fieldset, boxed
from web.organise.plan_forms import PlanForm, played_environments

RELABELLED = ("name", "season", "results")
PLAN_FIELDSETS: list[Fieldset] = [
    (None, {"fields": ("environment", "name", "season")}),
    ("How it is played", {"fields": ("format", "settings", "seed", "is_rated")}),
    (
        "When",
        {
            "fields": ("registration_opens_at", "registration_closes_at", "freezes_at", "starts_at"),
            "description": "All times are UTC. Without registration, every agent that may play takes part. Without a "
            "start time, the tournament begins when you run the action “Begin now”.",
        },
    ),
    ("Who takes part", {"fields": ("eligibility", "teams", "invited", "max_participants")}),
    (
        "Who sees results",
        {"fields": ("results",), "description": "Results do not count for ratings until they are released."},
    ),
]
COURSE_FIELDSET: Fieldset = (
    "Course",
    {"fields": ("edition", "state", "is_automatic", "schedule", "created_by", "started_at", "ended_at",
                "cancel_reason")},
)  # fmt: skip


@admin.register(Tournament)
class TournamentAdmin(NamedTimesAdmin[Tournament]):
    """Tournaments. A planned one can be changed freely, any other only in what does not affect its matches."""

    form = PlanForm
    actions_on_bottom = True
    list_per_page = 50
    list_display = ("__str__", "environment", "edition", "state", "format", "results", "participants", "duels", "void",
                    "starts_at", "started_at", "ended_at")  # fmt: skip
    # Environments that rank by scores have no tournaments, so the filter leaves them out.
    list_filter = (("environment", admin.RelatedOnlyFieldListFilter), "state", "results", "is_automatic")
    list_select_related = ("environment",)
    search_fields = ("=edition", "environment__name", "environment__slug")
    date_hierarchy = "started_at"
    # nulls_first: planned tournaments come first on every database.
    ordering = (F("started_at").desc(nulls_first=True),)
    autocomplete_fields = ("invited",)
    actions = ("begin_now", "call_off", "cancel", "end_ladder", "release", "void_round")

    def get_form(
        self, request: HttpRequest, obj: Tournament | None = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Tournament]]:
        if obj is not None and not _is_planned(obj):
            kwargs["form"] = forms.ModelForm
        form = super().get_form(request, obj, change, **kwargs)
        for name, rows in (("environment", played_environments()), ("season", _seasons(obj))):
            field = form.base_fields.get(name)
            if isinstance(field, forms.ModelChoiceField):
                field.queryset = rows
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Tournament | None = None) -> Any:
        if obj is not None and not _is_planned(obj):
            return [*PLAN_FIELDSETS, COURSE_FIELDSET]
        may_write = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return boxed(PLAN_FIELDSETS) if may_write else PLAN_FIELDSETS

    def get_readonly_fields(self, request: HttpRequest, obj: Tournament | None = None) -> list[str]:
        if obj is None:
            return []
        if _is_planned(obj):
            return ["environment"]
        open_fields = set(RELABELLED if obj.state != TournamentState.CANCELLED else ())
        if obj.results == Audience.PUBLIC:
            # Public results can no longer be held back.
            open_fields.discard("results")
        shown = [name for _, options in (*PLAN_FIELDSETS, COURSE_FIELDSET) for name in options["fields"]]
        return [name for name in shown if name not in open_fields]

    def get_inlines(self, request: HttpRequest, obj: Tournament | None) -> Any:
        if obj is None:
            return ()
        return (RegistrationInline,) if _is_planned(obj) else (ParticipantInline,)

    def has_delete_permission(self, request: HttpRequest, obj: Tournament | None = None) -> bool:
        return False  # its duels are in the ledger; a planned one is called off

    def save_model(self, request: HttpRequest, obj: Tournament, form: Any, change: bool) -> None:
        # Services save only the columns of the form, because workers write the others.
        data = form.cleaned_data
        try:
            if not change:
                assert isinstance(request.user, User)
                obj.created_by = request.user
                tournament_plan(tournament=obj, invited=data["invited"], now=timezone.now())
            elif "starts_at" in data:
                tournament_replan(tournament=obj, invited=data["invited"], now=timezone.now())
            elif data:
                tournament_relabel(
                    tournament=obj, name=data["name"], season=data["season"], results=data.get("results", obj.results)
                )
        except Refused as refusal:
            # The form was valid, so the tournament has begun since it was checked.
            raise PermissionDenied(f"Nothing was saved. {refusal}") from None

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

    end_ladder = admin_action(END_LADDER)
    begin_now = admin_action(BEGIN)
    call_off = admin_action(CALL_OFF)
    release = admin_action(RELEASE)
    cancel = admin_action(CANCEL)
    void_round = admin_action(VOID_ROUND)


def _is_planned(tournament: Tournament) -> bool:
    return tournament.state == TournamentState.PLANNED


def _seasons(tournament: Tournament | None) -> QuerySet[Season]:
    rows = Season.objects.select_related("environment")
    return rows if tournament is None else rows.filter(environment=tournament.environment_id)


def _count(rows: QuerySet[Participant] | QuerySet[Duel]) -> Coalesce:
    """Count the rows of each tournament by a subquery, because several joins would multiply each other's rows."""
    grouped = rows.filter(tournament=OuterRef("pk")).order_by().values("tournament").annotate(count=Count("pk"))
    return Coalesce(Subquery(grouped.values("count"), output_field=IntegerField()), 0)
