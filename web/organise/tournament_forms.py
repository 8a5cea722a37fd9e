"""The organisers' form of a planned tournament: times in the organiser's zone, and invited people by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import F, Q

from core.models import WINDOW, Agent, Audience, Course, Season, Tournament
from core.people.selectors import people_named
from web.organise.format_forms import BOXES
from web.organise.forms import Part, PartedForm, TimeInput, ZonedForm
from web.organise.plan_forms import NamesField, PlanForm, environments_offer, played_environments

PARTS: tuple[Part, ...] = (
    ("What", ("environment", "course", "name", "season", "about")),
    ("How it is played", ("format", *BOXES, "seed", "has_openings", "is_rated")),
    ("Seeds", ("seeded_by", "seeds")),
    ("When", (*WINDOW, "time_zone")),
    ("Who takes part", ("eligibility", "teams", "invited", "max_participants", "baselines")),
    ("Who sees results", ("results",)),
)
"""The fields of each part of the page."""
LABELS = {
    "about": "Text",
    "registration_opens_at": "Registration opens",
    "registration_closes_at": "Registration closes",
    "freezes_at": "Versions freeze",
    "starts_at": "Begins",
    "has_openings": "Openings",
    "seeded_by": "Decided by",
    "is_rated": "Rated",
    "max_participants": "Places",
    "eligibility": "Open to",
}
MOST_INVITED = 1000


class PeopleField(forms.CharField):
    """People by user name or e-mail, one a line."""

    widget = forms.Textarea(attrs={"rows": 4})

    def prepare_value(self, value: Any) -> Any:
        """Return the names of people; a user name with an @ would be read as an e-mail."""
        if isinstance(value, str):
            return value
        return "\n".join(one.email if "@" in one.username else one.username for one in value or ())

    def clean(self, value: Any) -> Any:
        names = list(dict.fromkeys(re.split(r"[\s,;]+", super().clean(value).strip()))) if value else []
        names = [name for name in names if name]
        if len(names) > MOST_INVITED:
            raise ValidationError(f"At most {MOST_INVITED} people can be named; these are {len(names)}.")
        found = people_named(names)
        lowered = [name.casefold() for name in names]
        missing = [name for name, key in zip(names, lowered, strict=True) if key not in found]
        if missing:
            shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            raise ValidationError(f"There is no account with this user name or e-mail: {shown}.")
        return sorted({found[key] for key in lowered}, key=lambda user: user.pk)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(super().has_changed(self.prepare_value(initial), data))


class SeedsField(forms.CharField):
    """Registered agents by name, one a line, the best seed first."""

    widget = forms.Textarea(attrs={"rows": 6})
    registered: Mapping[str, Agent] = MappingProxyType({})
    """The agents by their names in small letters."""

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(agent.name for agent in value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        names = list(dict.fromkeys(line.strip().casefold() for line in super().clean(value).splitlines()))
        if missing := [name for name in names if name and name not in self.registered]:
            raise ValidationError(f"No such agent is registered: {missing[0]}.")
        return [self.registered[name] for name in names if name]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(super().has_changed(self.prepare_value(initial), (data or "").replace("\r\n", "\n")))


class TournamentForm(PlanForm, ZonedForm):  # type: ignore[misc]  # Django adds the scripts of both
    """Plan a tournament."""

    PARTS = PARTS
    invited = PeopleField(
        required=False, label="Invited people", help_text="For “invited people”: user names or e-mails, one per line."
    )

    baselines = NamesField(
        required=False,
        help_text="Agents of the course’s teachers and of the site, one per line. In a round robin and by score they "
        "play outside the ranking: without a rank, a seed or a place.",
    )

    seeds = SeedsField(
        required=False,
        label="Seeds by hand",
        help_text="For “organisers”: registered agents, one per line, the best seed first. Others follow by rating.",
    )

    class Meta:
        model = Tournament
        fields = ("environment", "course", "name", "season", "about", "format", "seed", "has_openings", "is_rated",
                  "seeded_by", *WINDOW, "time_zone", "eligibility", "teams", "max_participants", "results")  # fmt: skip
        labels = LABELS
        help_texts = {
            "course": "Only its members take part. Only people who see the course see the tournament, but its rated "
            "duels count for the ratings of the environment.",
            "registration_opens_at": "Empty: no registration, every agent that may play takes part.",
            "registration_closes_at": "Empty: until it begins.",
            "seeded_by": "By lot: drawn when it begins, from the seed that its page then shows. By organisers: open a "
            "registration, then come back to this page.",
            "starts_at": "Empty: it begins when you press “Begin now”.",
            "max_participants": "Empty: no limit.",
        }
        widgets = {name: TimeInput() for name in WINDOW}

    def __init__(self, *args: Any, of: Course | None = None, **kwargs: Any) -> None:
        """of: the course to which the tournament belongs and whose roles plan it; None for the site's organisers."""
        super().__init__(*args, **kwargs)
        self.of = of
        self.fields["seeded_by"].required = False
        environment, season, course = environments_offer(self), self.fields["season"], self.fields["course"]
        assert isinstance(season, forms.ModelChoiceField)
        season.queryset = Season.objects.select_related("environment")
        season.empty_label = "No season"
        assert isinstance(course, forms.ModelChoiceField)
        course.empty_label = "None: for everyone"
        if of is not None:
            self.initial["course"], course.disabled = of, True
            # The zone of the course, not that of the browser.
            self.fields["time_zone"].widget.attrs.pop("data-new", None)
            environment.queryset = played_environments().filter(Q(course=None) | Q(course=of))
            season.queryset = season.queryset.filter(Q(environment__course=of) | Q(pk=self.instance.season_id))
        if not self.instance.has_registration or not self.instance.pk:
            del self.fields["seeds"]
        else:
            rows = self.instance.registrations.select_related("agent").order_by(F("seed").asc(nulls_last=True), "pk")
            seeds = self.fields["seeds"]
            assert isinstance(seeds, SeedsField)
            seeds.registered = {row.agent.name.casefold(): row.agent for row in rows}
            self.initial["seeds"] = [row.agent for row in rows if row.seed is not None]
        if self.instance.pk:
            environment.disabled = True
            season.queryset = season.queryset.filter(environment=self.instance.environment_id)
            self.initial.setdefault("invited", list(self.instance.invited.order_by("username")))
            self.initial.setdefault("baselines", list(self.instance.baselines.order_by("name")))

    def clean_seeded_by(self) -> str:
        return str(self.cleaned_data["seeded_by"] or self.instance.seeded_by)


class RelabelForm(PartedForm):
    """The fields of a tournament that may change after it has begun: nothing that affects its matches."""

    class Meta:
        model = Tournament
        fields = ("name", "season", "about", "results")
        labels = LABELS

    def __init__(self, *args: Any, of: Course | None = None, **kwargs: Any) -> None:
        """of: as in `TournamentForm`."""
        super().__init__(*args, **kwargs)
        season = self.fields["season"]
        assert isinstance(season, forms.ModelChoiceField)
        season.queryset = Season.objects.select_related("environment").filter(environment=self.instance.environment_id)
        if of is not None:
            season.queryset = season.queryset.filter(Q(environment__course=of) | Q(pk=self.instance.season_id))
        season.empty_label = "No season"
        if self.instance.results == Audience.PUBLIC:
            # They stay in histories, notices and people's files, so they can no longer be withheld.
            del self.fields["results"]
