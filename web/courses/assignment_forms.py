"""Forms of assignments: one, or a term of them at once, and a later deadline for some people."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from django import forms
from django.forms.models import ModelChoiceIterator

from core.assignments.services import MOST_WEEKS, Wanted, baselines_for, environments_for
from core.models import Agent, Assignment, Course, MarkByHand
from web.organise.forms import Part, TimeInput, ZonedForm, time_check

MOST_BASELINES = 3
BASELINES = tuple(
    f"{name}_{place}" for place in range(1, MOST_BASELINES + 1) for name in ("agent", "percent", "score", "marks")
)
WHEN = ("opens_at", "due_at", "late_days", "late_percent")
PARTS: tuple[Part, ...] = (
    ("What", ("name", "environment", "weeks", "about")),
    ("Baselines", BASELINES),
    ("When", WHEN),
    ("Marks", ("weight", "has_board")),
)


class ByEnvironment(ModelChoiceIterator):  # type: ignore[type-arg]  # not generic at run time
    """Agents in groups by their environment; a script offers those of the environment that is chosen."""

    def __iter__(self) -> Iterator[Any]:
        yield "", self.field.empty_label
        for environment, agents in groupby(self.queryset, attrgetter("environment.name")):
            yield environment, [self.choice(one) for one in agents]


class AgentField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """An agent with its environment, which the closed list shows too."""

    iterator = ByEnvironment

    def label_from_instance(self, obj: Agent) -> str:
        """Return the words of a choice."""
        return f"{obj.name}, {obj.environment} ({obj.owner})"


class AssignmentForm(ZonedForm):
    """An assignment with its baselines; a new one may be the first of a term."""

    PARTS = PARTS
    weeks = forms.IntegerField(
        label="How many",
        min_value=1,
        max_value=MOST_WEEKS,
        initial=1,
        help_text="More than one: a term with one a week. “Week 1” is followed by “Week 2”.",
    )

    class Meta:
        model = Assignment
        fields = ("name", "environment", "about", *WHEN, "weight", "has_board")
        labels = {
            "about": "Text",
            "opens_at": "Opens",
            "due_at": "Deadline",
            "late_days": "Late days",
            "late_percent": "Lost per late day (%)",
            "has_board": "Show the class a board",
        }
        help_texts = {
            "late_days": "0: nothing counts after the deadline.",
            "late_percent": "",
            "weight": "0: it does not count.",
        }
        widgets = {"opens_at": TimeInput(), "due_at": TimeInput(), "about": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: Any, course: Course, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Its times are in the zone of the course.
        del self.fields["time_zone"]
        changed = self.instance if self.instance.pk else None
        environment = self.fields["environment"]
        assert isinstance(environment, forms.ModelChoiceField)
        environment.queryset, environment.empty_label = environments_for(course, changed), None
        self.instance.course = course
        if changed:
            del self.fields["weeks"]
        rows = list(changed.baselines.all()) if changed else []
        agents = baselines_for(course, changed).order_by("environment__name", "name")
        for place in range(1, MOST_BASELINES + 1):
            row = rows[place - 1] if place <= len(rows) else None
            self.fields[f"agent_{place}"] = AgentField(
                agents,
                required=False,
                initial=row and row.agent_id,
                label=f"Baseline {place}",
                empty_label="none",
            )
            self.fields[f"percent_{place}"] = _number("To reach (%)", 10, 95, row.percent if row else 50)
            self.fields[f"score_{place}"] = forms.FloatField(
                label="Or score", required=False, initial=None if row is None else row.score
            )
            self.fields[f"marks_{place}"] = _number("Marks", 1, 1000, row.marks if row else 10)

    @property
    def wanted(self) -> list[Wanted]:
        """The baselines that are chosen."""
        data = self.cleaned_data
        rows = [
            Wanted(data[f"agent_{place}"], data[f"percent_{place}"], data[f"marks_{place}"], data[f"score_{place}"])
            for place in range(1, MOST_BASELINES + 1)
        ]
        return [row for row in rows if row.agent is not None or row.score is not None]


class ExtendForm(forms.Form):
    """A later deadline in an assignment, in the zone of its course."""

    assignment = forms.ModelChoiceField(Assignment.objects.none(), empty_label=None)
    due_at = forms.DateTimeField(label="Until", widget=TimeInput(), validators=[time_check])

    def __init__(self, *args: Any, course: Course, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["assignment"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = course.assignments.all()


class MarkForm(forms.Form):
    """Marks by hand, with the reason that the student reads."""

    marks = forms.DecimalField(min_value=0, max_digits=6, decimal_places=2)
    reason = forms.CharField(max_length=MarkByHand._meta.get_field("reason").max_length)


def _number(label: str, least: int, most: int, initial: int) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, max_value=most, initial=initial)
