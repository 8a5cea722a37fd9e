"""Forms of the site. They check what a person typed; what is allowed is decided by services."""

from __future__ import annotations

from django import forms

from core.errors import Refused


def refuse(form: forms.BaseForm, refusal: Refused) -> None:
    """Show a service's refusal at the field it belongs to."""
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))
