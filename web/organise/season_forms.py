"""Forms of what spans tournaments: seasons and schedules of recurring ones."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from arena_kit.text import plain_line
from core.errors import Refused
from core.models import Season, TournamentSchedule
from core.tournaments.schedules import schedule_check
from web.organise.format_forms import BOXES, FormatForm
from web.organise.forms import Part, TimeInput, ZonedForm
from web.organise.plan_forms import environments_offer, hide_teams, teams_field


class SeasonForm(ZonedForm):
    """A season. Its tournaments all belong to its environment, so that stays."""

    class Meta:
        model = Season
        fields = ("environment", "name", "begins_at", "ends_at", "time_zone")
        widgets = {"begins_at": TimeInput(), "ends_at": TimeInput()}
        labels = {"begins_at": "Begins", "ends_at": "Ends"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        environments_offer(self)
        self.fields["environment"].disabled = self.instance.pk is not None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        begins_at, ends_at = data.get("begins_at"), data.get("ends_at")
        if begins_at and ends_at and ends_at <= begins_at:
            self.add_error("ends_at", "It must end after it begins.")
        return data


class ScheduleForm(FormatForm, ZonedForm):  # type: ignore[misc]  # Django adds the scripts of both
    """A schedule of recurring tournaments."""

    PARTS: tuple[Part, ...] = (
        ("When", ("name", "environment", "cron", "time_zone", "is_active")),
        ("Each tournament", ("title", "format", *BOXES, "is_rated", "results", "in_season")),
        ("Who takes part", ("registration_hours", "freeze_hours", "teams", "max_participants")),
    )
    teams = teams_field("Names as in people's profiles, one per line. Empty: all users may take part.")

    class Meta:
        model = TournamentSchedule
        fields = ("name", "environment", "cron", "time_zone", "is_active", "title", "format", "is_rated", "results",
                  "in_season", "registration_hours", "freeze_hours", "teams", "max_participants")  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        environments_offer(self)
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
