"""Forms to plan tournaments: single ones, schedules of recurring ones, and seasons."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from arena_kit.text import plain_line
from core.errors import Refused
from core.models import Season, TournamentSchedule, User
from core.times import moment
from core.tournaments.cron import cron_next
from core.tournaments.schedules import schedule_check, schedule_remove, schedule_save
from web.admin.base import ModelAdmin, NamedTimesAdmin
from web.organise.format_forms import BOXES, Fieldset, FormatForm, boxed
from web.organise.plan_forms import hide_teams, played_environments, teams_field


class ScheduleForm(FormatForm):
    """A schedule of recurring tournaments."""

    teams = teams_field("Names as in people's profiles, one per line. Empty: all users may take part.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields.get("environment")
        if isinstance(field, forms.ModelChoiceField):
            field.queryset = played_environments()
        hide_teams(self)

    def clean_name(self) -> str:
        """Return the name as it is stored, so that two names never look the same."""
        return plain_line(self.cleaned_data["name"])

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if self.errors or not data["is_active"]:
            return data
        try:
            columns = {name: value for name, value in data.items() if name not in BOXES}
            schedule_check(TournamentSchedule(**columns), now=timezone.now())
        except Refused as refusal:
            self.refuse(refusal)
        return data


SCHEDULE_FIELDSETS: list[Fieldset] = [
    (None, {"fields": ("name", "environment", "cron", "is_active", "next_time", "last_note")}),
    ("Each tournament", {"fields": ("title", "format", "settings", "is_rated", "results", "in_season")}),
    (
        "Who takes part",
        {"fields": ("registration_hours", "freeze_hours", "teams", "max_participants")},
    ),
    ("Origin", {"fields": ("created_by", "created_at")}),
]


@admin.register(TournamentSchedule)
class TournamentScheduleAdmin(ModelAdmin[TournamentSchedule]):
    """Schedules of tournaments. Only superusers see django-q's own schedules, which can call any function."""

    form = ScheduleForm
    list_display = ("name", "environment", "cron", "format", "is_active", "next_time", "last_note")
    list_filter = ("is_active", "environment")
    list_select_related = ("environment",)
    search_fields = ("name",)
    readonly_fields = ("next_time", "last_note", "created_by", "created_at")

    def get_fieldsets(self, request: HttpRequest, obj: TournamentSchedule | None = None) -> Any:
        may_write = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return boxed(SCHEDULE_FIELDSETS) if may_write else SCHEDULE_FIELDSETS

    @admin.display(description="next time")
    def next_time(self, schedule: TournamentSchedule) -> str:
        if not schedule.is_active or not schedule.pk:
            return "–"
        return moment(cron_next(schedule.cron, after=timezone.now()))

    def save_model(self, request: HttpRequest, obj: TournamentSchedule, form: Any, change: bool) -> None:
        if not change:
            assert isinstance(request.user, User)
            obj.created_by = request.user
        schedule_save(schedule=obj, now=timezone.now())

    def delete_model(self, request: HttpRequest, obj: TournamentSchedule) -> None:
        schedule_remove(schedule=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[TournamentSchedule]) -> None:
        for schedule in queryset:
            schedule_remove(schedule=schedule)


@admin.register(Season)
class SeasonAdmin(NamedTimesAdmin[Season]):
    list_display = ("name", "environment", "begins_at", "ends_at", "tournament_count")
    list_filter = ("environment",)
    list_select_related = ("environment",)
    search_fields = ("name", "environment__name")

    def get_form(self, request: HttpRequest, obj: Season | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if "environment" in form.base_fields:
            field = form.base_fields["environment"]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = played_environments()
        return form

    def get_readonly_fields(self, request: HttpRequest, obj: Season | None = None) -> tuple[str, ...]:
        # The tournaments of a season all belong to its environment.
        return () if obj is None else ("environment",)

    def view_on_site(self, season: Season) -> str:
        return reverse("web:season", args=[season.environment.slug, season.pk])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Season]:
        return super().get_queryset(request).annotate(counted=Count("tournaments"))

    @admin.display(description="tournaments")
    def tournament_count(self, season: Season) -> int:
        return int(getattr(season, "counted", 0))
