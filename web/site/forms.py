"""What the forms of the site share."""

from __future__ import annotations

from django import forms

from core.errors import Refused


def refuse(form: forms.BaseForm, refusal: Refused) -> None:
    """Show the refusal of a service at the field that it names, or above the form."""
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))
