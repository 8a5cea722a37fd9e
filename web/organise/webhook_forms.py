"""The form of a webhook, in the admin and on the organisers' pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError

from core.models import EventKind, Webhook
from core.notices.outgoing import address_problem

if TYPE_CHECKING:
    WebhookModelForm = forms.ModelForm[Webhook]
else:
    WebhookModelForm = forms.ModelForm  # not generic at run time

KINDS = [(kind.value, kind.label) for kind in EventKind if kind != EventKind.TEST]


class WebhookForm(WebhookModelForm):
    """The form of a webhook. It never shows the stored address, but accepts a new one."""

    kinds = forms.MultipleChoiceField(choices=KINDS, widget=forms.CheckboxSelectMultiple, label="Events")

    class Meta:
        model = Webhook
        fields = ("name", "format", "secret_url", "kinds", "environment", "is_active")
        widgets = {"secret_url": forms.PasswordInput(attrs={"size": 80, "autocomplete": "off"})}

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Organisers without the right to change get a form without fields.
        if "secret_url" in self.fields and not self.instance._state.adding:
            self.fields["secret_url"].required = False
            self.fields[
                "secret_url"
            ].help_text = f"The current address is at {self.instance.host}. Leave empty to keep it."

    def clean_secret_url(self) -> str:
        url: str = self.cleaned_data["secret_url"].strip()
        if not url:
            return self.instance.secret_url
        if problem := address_problem(url):
            raise ValidationError(problem)
        return url
