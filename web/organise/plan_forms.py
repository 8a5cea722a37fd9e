"""The form of a planned tournament."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.lookups import Exact
from django.utils import timezone

from arena_kit.ranking.formats import FORMATS
from core.errors import Refused
from core.models import Environment, EnvironmentKind, Seeding, Tournament
from core.models.tournament import Eligibility
from core.tournaments.baselines import baselines_named
from core.tournaments.planning import PLANNED_FIELDS, plan_problems
from web.organise.format_forms import FormatForm

PER_OWNER = " Each owner may register as many agents as the environment’s “Active per owner” allows."


class NamesField(forms.CharField):
    """A list of names, entered one per line."""

    widget = forms.Textarea(attrs={"rows": 3, "cols": 40})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), (data or "").replace("\r\n", "\n"))


def teams_field(help_text: str) -> NamesField:
    return NamesField(required=False, help_text=help_text)


def hide_teams(form: FormatForm) -> None:
    """Hide the fields about teams if this arena has no teams, unless the row already names some."""
    if settings.TEAMS or form.initial.get("teams"):
        return
    if "teams" in form.fields:
        form.fields["teams"].widget = forms.HiddenInput()
    field = form.fields.get("eligibility")
    if isinstance(field, forms.ChoiceField):
        field.choices = [choice for choice in Eligibility.choices if choice[0] != Eligibility.TEAMS]


class PlanForm(FormatForm):
    """A planned tournament. A plan that cannot be played is refused at the field that is wrong."""

    name = forms.CharField(max_length=100)
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="Empty or 0: drawn at random. The seeds of all duels follow from it.",
    )
    teams = teams_field(
        "For “members of certain teams”: the teams' names, one per line. People choose their own team, so use "
        "invitations if you want to decide who takes part."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hide_teams(self)
        if "registration_opens_at" in self.fields:
            self.fields["registration_opens_at"].help_text += PER_OWNER

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        data["seed"] = data.get("seed") or 0
        if data.get("format") in FORMATS and FORMATS[data["format"]].plays_alone:
            # The page hides these fields.
            data |= {"has_openings": True, "seeded_by": Seeding.RATING}
        self._baselines_named(data)
        # Errors of the whole are shown together with errors of single fields.
        row = self.planned()
        if row is not None:
            invited, baselines = (list(data.get(name) or ()) for name in ("invited", "baselines"))
            for problem in list(plan_problems(row, invited=invited, baselines=baselines, now=timezone.now())):
                if problem.field not in self.errors:
                    self.refuse(problem)
        return data

    def _baselines_named(self, data: dict[str, Any]) -> None:
        """Put agents in the place of their names."""
        environment = data.get("environment")
        names, data["baselines"] = data.get("baselines"), []
        if names and environment is not None:
            try:
                data["baselines"] = baselines_named(names, environment, data.get("course"))
            except Refused as problem:
                self.refuse(problem)

    def planned(self) -> Tournament | None:
        """Return an unsaved tournament of the fields that are good; None while there is no environment."""
        data = self.cleaned_data
        environment = data.get("environment") or (self.instance.environment if self.instance.pk else None)
        if environment is None:
            return None
        given = {name: data[name] for name in PLANNED_FIELDS if name in data}
        kind = given.get("format", next(iter(FORMATS)))
        row = Tournament(**{**given, "environment": environment, "format": kind, "settings": given.get("settings", {})})
        if row.registration_closes_at is not None and row.registration_opens_at is None:
            row.registration_opens_at = timezone.now()
        return row


def played_environments() -> QuerySet[Environment]:
    """Return the environments that can have tournaments: first those whose agents meet."""
    return Environment.objects.exclude(kind=EnvironmentKind.APP).order_by(Exact(F("seats"), 1), "name")


def environments_offer(form: forms.BaseForm) -> forms.ModelChoiceField[Environment]:
    """Offer only the environments that can have tournaments, and name those with one seat to the script of formats."""
    field = form.fields["environment"]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = played_environments()
    alone = field.queryset.filter(seats=1).values_list("pk", flat=True)
    field.widget.attrs["data-alone"] = " ".join(map(str, alone))
    return field
