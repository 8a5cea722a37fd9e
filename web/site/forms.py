"""Parts of forms: a service's refusal, and fields for a moment of the past, as in ?as_of=2026-05-31."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from core.errors import Refused
from core.moments import parse_moment

LONGEST = 40
"""Maximum length of the input, in characters; every valid moment is shorter."""


def refuse(form: forms.BaseForm, refusal: Refused) -> None:
    """Show the refusal of a service at the field that it names, or above the form."""
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))


class DayInput(forms.DateInput):
    """An input for a day. For a value with a time it shows the day."""

    def __init__(self) -> None:
        super().__init__(attrs={"type": "date"})

    def format_value(self, value: Any) -> str | None:
        return str(value).strip()[:10] if value else None


class MomentField(forms.CharField):
    """A day, which stands for its end, or a moment; empty stands for now."""

    widget = DayInput

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST, **options)

    def clean(self, value: Any) -> Any:
        """Return the moment, or None if the field is empty. Raises ValidationError that says what to write instead."""
        words = super().clean(value)
        if not words:
            return None
        try:
            return parse_moment(words)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class AsOfForm(forms.Form):
    """A form of the moment alone, for pages without other filters."""

    as_of = MomentField(required=False, label="Leaderboard as it stood on (UTC)")

    @property
    def moment(self) -> datetime | None:
        """The moment asked for; None for now, and for invalid input, where the field shows the error."""
        found: datetime | None = self.cleaned_data.get("as_of") if self.is_valid() else None
        return found
