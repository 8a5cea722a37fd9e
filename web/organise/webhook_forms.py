"""The form of a webhook."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from core.models import EventKind, Webhook
from core.notices.outgoing import address_problem, private_problem
from web.organise.forms import PartedForm

KINDS = [(kind.value, kind.label) for kind in EventKind if kind != EventKind.TEST]


class TypedSecret(forms.PasswordInput):
    """A secret that people see while they type it; forms compare it no more than a password."""

    input_type = "text"


class WebhookForm(PartedForm):
    """The form of a webhook. It never shows the stored address, but accepts a new one."""

    kinds = forms.MultipleChoiceField(choices=KINDS, widget=forms.CheckboxSelectMultiple, label="Events")

    class Meta:
        model = Webhook
        fields = ("name", "format", "secret_url", "kinds", "environment", "is_active")
        widgets = {
            "secret_url": TypedSecret({"size": 80, "autocomplete": "off", "inputmode": "url"}, render_value=True)
        }

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if not self.instance._state.adding:
            address = self.fields["secret_url"]
            address.required = False
            self.initial["secret_url"] = ""
            address.help_text = f"The current address is at {self.instance.host}. Leave empty to keep it."

    def clean_secret_url(self) -> str:
        url: str = self.cleaned_data["secret_url"].strip()
        if not url:
            # As it is: one that cannot be read stays stored.
            kept: str = self.instance.secret_url
            return kept
        if problem := address_problem(url) or private_problem(url):
            raise ValidationError(problem)
        return url
