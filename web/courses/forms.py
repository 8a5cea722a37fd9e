"""Forms of courses and of their news."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from core.models import Announcement, Course, Tournament, User
from core.times import zone_names, zone_of
from web.organise.tournament_forms import PeopleField

TAKEN_WORDS = frozenset({"add", "join", "team", "work-as"})
"""Words that stand for pages in addresses of courses."""

if TYPE_CHECKING:
    CourseModelForm = forms.ModelForm[Course]
    AnnouncementModelForm = forms.ModelForm[Announcement]
else:
    # Not generic at run time.
    CourseModelForm = AnnouncementModelForm = forms.ModelForm


class CourseForm(CourseModelForm):
    """A course. Only the site's organisers appoint its teachers."""

    teachers = PeopleField(required=False, label="Teachers", help_text="User names or e-mails, one per line.")

    class Meta:
        model = Course
        fields = ("name", "slug", "kind", "seen_by", "time_zone", "team_size", "counts_best", "about")
        labels = {
            "slug": "Name in addresses",
            "kind": "Pages call it",
            "seen_by": "Who sees it",
            "about": "Text",
            "team_size": "Largest team",
            "counts_best": "Best assignments",
        }
        help_texts = {
            "slug": "Small letters, digits and hyphens.",
            "seen_by": "It and all that belongs to it. “People with the link”: no list shows it; people who have "
            "its address see it.",
            "team_size": "A team owns agents together. Students make teams of up to so many people; "
            "with 0 only you do.",
            "counts_best": "Only so many of each student’s assignments count for the percent, the best. 0: all.",
            "time_zone": "New tournaments get it. Times are shown in it to everyone, also when clocks change.",
        }
        widgets = {"about": forms.Textarea(attrs={"rows": 8})}

    class Media:
        js = (forms.Script("web/plan.js", defer=True),)

    def __init__(self, *args: Any, may_appoint: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zones = [(name, name.replace("_", " ")) for name in zone_names()]
        self.fields["time_zone"].widget = forms.Select(choices=zones)
        self.initial["time_zone"] = zone_of(self.instance.time_zone).key
        if not self.instance.pk and not self.is_bound:
            self.fields["time_zone"].widget.attrs["data-new"] = ""
        if not may_appoint:
            del self.fields["teachers"]

    def clean_teachers(self) -> list[User]:
        people: list[User] = self.cleaned_data["teachers"]
        if team := next((one for one in people if one.is_team), None):
            raise ValidationError(f"{team} is a team. Name people.")
        return people

    def clean_team_size(self) -> int:
        return self.cleaned_data["team_size"] or 0

    def clean_counts_best(self) -> int:
        return self.cleaned_data["counts_best"] or 0

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug in TAKEN_WORDS:
            raise ValidationError("This word has another meaning in addresses. Choose another one.")
        return slug


class AnnouncementForm(AnnouncementModelForm):
    """A text to members. tournaments: those to whose participants it may go instead."""

    class Meta:
        model = Announcement
        fields = ("title", "text", "tournament")
        labels = {"tournament": "To"}
        widgets = {"text": forms.Textarea(attrs={"rows": 8})}

    def __init__(self, *args: Any, tournaments: QuerySet[Tournament], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["tournament"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset, field.empty_label = tournaments, "all members"
