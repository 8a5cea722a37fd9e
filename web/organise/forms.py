"""The parts that forms of organisers share: their parts on the page, and times in the zone of the reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.utils import timezone

from core.models.quota import QuotaName

if TYPE_CHECKING:
    AnyModelForm = forms.ModelForm[Any]
else:
    # Not generic at run time.
    AnyModelForm = forms.ModelForm

QUOTA_LABELS = {f"quota_{name.value}": str(name.label).capitalize() for name in QuotaName}
"""The labels of the columns of quotas."""
Part = tuple[str, Sequence[str]]


class TimeInput(forms.DateTimeInput):
    """An input for a day and a time of day."""

    def __init__(self) -> None:
        super().__init__(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class PartedForm(AnyModelForm):
    """A form whose fields stand in parts with a title. Fields that no part names stand in the last one."""

    PARTS: Sequence[Part] = (("", ()),)

    def parts(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Return the parts that have visible fields, with these."""
        named = {name for _, names in self.PARTS for name in names}
        rest = [name for name in self.fields if name not in named]
        *before, (last, names) = self.PARTS
        found = [
            (title, [self[name] for name in names if name in self.fields and not self[name].is_hidden])
            for title, names in (*before, (last, (*names, *rest)))
        ]
        return [(title, fields) for title, fields in found if fields]

    def told(self, name: str) -> str:
        """Return the words for a changed field in a notice to the person whom it concerns."""
        return str(self.fields[name].label or name).lower()


class ZonedForm(PartedForm):
    """A form with times. zone: the zone in which they are written, which a script sets; empty for UTC."""

    zone = forms.CharField(required=False, widget=forms.HiddenInput)

    class Media:
        js = (forms.Script("web/plan.js", defer=True),)


def zoned(name: str) -> timezone.override:
    """Return a context in which forms read and show times in a zone; in UTC for a name that does not exist."""
    return timezone.override(ZoneInfo(name) if name in available_timezones() else "UTC")
