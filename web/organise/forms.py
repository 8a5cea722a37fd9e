"""The parts that forms of organisers share: their parts on the page, and times in a zone of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone

from core.models.quota import QuotaName
from core.models.zoned import Zoned
from core.times import zone_names, zone_of

if TYPE_CHECKING:
    AnyModelForm = forms.ModelForm[Any]
else:
    # Not generic at run time.
    AnyModelForm = forms.ModelForm

QUOTA_LABELS = {f"quota_{name.value}": str(name.label).capitalize() for name in QuotaName}
"""The labels of the columns of quotas."""
Part = tuple[str, Sequence[str]]
LAST_YEAR = 9990
"""The last year of times in forms: those of Python end with 9999."""


class TimeInput(forms.DateTimeInput):
    """An input for a day and a time of day."""

    def __init__(self) -> None:
        super().__init__(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class PartedForm(AnyModelForm):
    """A form whose fields stand in parts with a title. Fields that no part names stand in the last one.

    What another organiser has saved since it was opened is not overwritten: it is refused once, and shows both.
    """

    PARTS: Sequence[Part] = (("", ()),)

    @property
    def seen(self) -> str:
        """A digest, in JSON, of each field of the row; the form sends it back under this name."""
        return json.dumps(self._digests()) if self.instance.pk is not None else ""

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound and self.data.get("seen"):
            self._compare(self.data["seen"])

    def _compare(self, seen: str) -> None:
        """Add an error to each field that another organiser has changed to another value than this form has."""
        try:
            before = dict(json.loads(seen))
        except (ValueError, TypeError):
            before = {}
        now = self._digests()
        theirs = [name for name in now if before.get(name) != now[name] and name in self.changed_data]
        if not theirs:
            return
        self.add_error(
            None, "Another organiser has changed this meanwhile. Look at the marked fields, then save again."
        )
        for name in theirs:
            self.add_error(name, f"Meanwhile changed to: {self._in_words(name)}.")

    def _digests(self) -> dict[str, str]:
        """Return a digest of what the row has for each field that can be changed."""
        fields = {name: field for name, field in self.fields.items() if not field.disabled}
        values = {name: str(self.get_initial_for_field(field, name)) for name, field in fields.items()}
        return {name: sha256(value.encode()).hexdigest()[:8] for name, value in values.items()}

    def _in_words(self, name: str) -> str:
        """Return what the row has for a field."""
        field = self.fields[name]
        value = field.prepare_value(self.get_initial_for_field(field, name))
        if isinstance(field.widget, forms.PasswordInput):
            return "something that is not shown"
        if value in (None, "", []):
            return "nothing"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, datetime):
            return f"{value:%-d %b %Y, %H:%M}"
        chosen = {str(key): str(words) for key, words in getattr(field, "choices", ())}
        values = value if isinstance(value, list | tuple) else [value]
        return ", ".join(chosen.get(str(one), str(one)) for one in values)

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
    """A form with times, in the time zone that its row has. A script chooses that of the browser for a new row."""

    time_zone = forms.ChoiceField(
        label="Time zone", required=False, help_text=Zoned._meta.get_field("time_zone").help_text
    )

    class Media:
        js = (forms.Script("web/plan.js", defer=True),)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name.replace("_", " ")) for name in zone_names()]
        self.initial["time_zone"] = zone_of(self.initial.get("time_zone") or "").key
        if not self.instance.pk and not self.is_bound:
            field.widget.attrs["data-new"] = ""

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        for name, value in list(data.items()):
            try:
                time_check(value)
            except forms.ValidationError as error:
                self.add_error(name, error)
        return data

    def add_error(self, field: str | None, error: Any) -> None:
        """Add an error; one about a time that a change of the clocks skips or repeats gets a sentence of its own.

        A time that is as the row has it, e.g. from a schedule, stays.
        """
        if getattr(error, "code", "") == "ambiguous_timezone":
            sent = self[field or ""]
            if sent.data == sent.field.widget.format_value(sent.field.prepare_value(sent.initial)):
                self.cleaned_data[sent.name] = sent.initial
                return
            error = f"In {timezone.get_current_timezone()} clocks change then: choose a time before or after."
        super().add_error(field, error)


def time_check(value: object) -> None:
    """Raise ValidationError for a time so late that a term after it, or another zone, would leave the calendar."""
    if isinstance(value, datetime) and value.year > LAST_YEAR:
        raise forms.ValidationError(f"Choose a time before the end of {LAST_YEAR}.")


def zoned(request: HttpRequest, row: object = None) -> timezone.override:
    """Return a context in which forms read and show times in the zone that is sent, else in that of a row."""
    return timezone.override(zone_of(str(request.POST.get("time_zone") or getattr(row, "time_zone", ""))))
