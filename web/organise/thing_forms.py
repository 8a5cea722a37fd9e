"""Forms of agents, of people's profiles and of language models."""

from __future__ import annotations

from django import forms

from core.models import Agent, LanguageModel, User
from web.organise.forms import Part, PartedForm


class AgentFieldsForm(PartedForm):
    """The fields of an agent that organisers may change; its owner, its environment and its versions stay."""

    class Meta:
        model = Agent
        fields = ("name", "is_public", "shares_moves", "opponents", "description")


class ProfileFieldsForm(PartedForm):
    """Who a person is to others. A changed address has to be confirmed again."""

    class Meta:
        model = User
        fields = ("username", "email", "team", "github")


class LanguageModelForm(PartedForm):
    """A language model. Its key is never here: it is in a setting of the workers."""

    PARTS: tuple[Part, ...] = (
        ("Where it is", ("name", "url", "model_id", "form", "key_name", "sampling")),
        ("Prices", ("price_in_micros", "price_cached_micros", "price_out_micros")),
        ("Who may use it", ("users", "parallel", "cost_per_day_micros", "is_active")),
    )

    class Meta:
        model = LanguageModel
        labels = {"url": "Address", "model_id": "Name at its endpoint", "form": "Spoken to by", "key_name": "Key"}
        widgets = {"sampling": forms.Textarea(attrs={"rows": 3})}
        fields = ("name", "url", "model_id", "form", "key_name", "sampling", "price_in_micros", "price_cached_micros",
                  "price_out_micros", "users", "parallel", "cost_per_day_micros", "is_active")  # fmt: skip
