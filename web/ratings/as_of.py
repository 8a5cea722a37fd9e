"""Which moment of the past an address asks for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from core.moments import parse_moment

LONGEST = 40
"""Longer than any moment is written."""


class DayInput(forms.DateInput):
    """A field for a day, which shows the day of a moment that an address names to the second."""

    def __init__(self) -> None:
        super().__init__(attrs={"type": "date"})

    def format_value(self, value: Any) -> str | None:
        return str(value).strip()[:10] if value else None


class MomentField(forms.CharField):
    """A day, which means its end, or a moment; empty for now."""

    widget = DayInput

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST, **options)

    def clean(self, value: Any) -> Any:
        """The moment, None without one. Raises ValidationError with what to write instead."""
        words = super().clean(value)
        if not words:
            return None
        try:
            return parse_moment(words)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class AsOfForm(forms.Form):
    """The same for pages that have nothing else to filter by."""

    as_of = MomentField(required=False, label="Leaderboard as it stood on (UTC)")

    @property
    def moment(self) -> datetime | None:
        """None for now, and where it is wrong: then the field says so."""
        found: datetime | None = self.cleaned_data.get("as_of") if self.is_valid() else None
        return found
