"""Forms of agents, of people's profiles, of packages and of language models."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from arena_kit.rollout.values.strict_json import NotJson, flaws, parse_json
from core.models import Agent, EnvironmentTrial, LanguageModel, Package, User
from core.notices.outgoing import model_address_problem
from web.organise.forms import Part, PartedForm
from web.site.uploads import too_large


class AgentFieldsForm(PartedForm):
    """The fields of an agent that organisers may change; its owner, its environment and its versions stay."""

    class Meta:
        model = Agent
        fields = ("name", "is_public", "shares_moves", "opponents", "description")
        labels = {"is_public": "Public", "shares_moves": "Matches in public data sets"}
        help_texts = {"shares_moves": ""}

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        shares: Any = self.fields["shares_moves"].widget
        shares.choices = [("unknown", "If the agent is public"), ("true", "Yes"), ("false", "No")]

    def told(self, name: str) -> str:
        """Return the words for a changed field; none for the name, because saving it tells the owner itself."""
        return "" if name == "name" else super().told(name)


class ProfileFieldsForm(PartedForm):
    """Who a person is to others. A changed address has to be confirmed again."""

    class Meta:
        model = User
        fields = ("username", "first_name", "email", "team", "github")
        labels = {"username": "User name", "first_name": "Name"}

    def told(self, name: str) -> str:
        """Return the words for a changed field; of a new name, also that name."""
        words = super().told(name)
        return f"{words} (now {self.instance.username})" if name == "username" else words


class PackageForm(PartedForm):
    """The zip of a package that is new, and who may have it."""

    class Meta:
        model = Package
        fields = ("archive", "is_public", "note")
        labels = {"archive": "Package", "is_public": "Public"}
        help_texts = {"archive": "A zip with environment.yml and compose.yml. A new slug makes a new application."}
        widgets = {"archive": forms.FileInput(attrs={"accept": ".zip"})}

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if self.instance.pk is not None:
            # What was built from it stays what it is.
            del self.fields["archive"]

    def clean_archive(self) -> Any:
        """Refuse a file of which the upload has kept nothing."""
        return _of_fitting_size(self.cleaned_data["archive"])


def _of_fitting_size(archive: Any) -> Any:
    if archive.size > settings.MAX_UPLOAD_BYTES:
        raise ValidationError(too_large())
    return archive


class FolderForm(PartedForm):
    """The zip of an environment's folder."""

    class Meta:
        model = EnvironmentTrial
        fields = ("archive",)
        labels = {"archive": "Folder"}
        help_texts = {"archive": "A zip of one folder with info.yml, as arena pull gets it."}
        widgets = {"archive": forms.FileInput(attrs={"accept": ".zip"})}

    def clean_archive(self) -> Any:
        """Refuse a file of which the upload has kept nothing."""
        return _of_fitting_size(self.cleaned_data["archive"])


class SamplingField(forms.JSONField):
    """The fixed parameters of every request to a language model: an object that databases and endpoints take."""

    def to_python(self, value: Any) -> Any:
        """Return the parameters that are written as JSON. Raises ValidationError."""
        if isinstance(value, dict):
            return value
        try:
            found = parse_json(value or "{}")
        except NotJson as refusal:
            raise ValidationError(str(refusal)) from None
        if not isinstance(found, dict):
            raise ValidationError('Write an object of parameters, such as {"temperature": 0.5}.')
        if flaw := next(flaws(found), None):
            raise ValidationError(f"{flaw.path}: {flaw.message}")
        return dict(found)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return what was sent as it was sent: what is wrong with it may be what cannot be written again."""
        return None if data is None else InvalidJSONInput(data)


class LanguageModelForm(PartedForm):
    """A language model. Its key is never here: it is in a setting of the workers."""

    PARTS: tuple[Part, ...] = (
        ("Where it is", ("name", "url", "model_id", "form", "key_name", "sampling")),
        ("Prices", ("price_in_micros", "price_cached_micros", "price_out_micros")),
        ("Who may use it", ("users", "parallel", "cost_per_day_micros", "is_active")),
    )

    class Meta:
        model = LanguageModel
        labels = {
            "url": "Address",
            "model_id": "Name at its endpoint",
            "form": "Spoken to by",
            "key_name": "Key",
            "sampling": "Fixed parameters",
            "price_in_micros": "Price of questions",
            "price_cached_micros": "Price of cached questions",
            "price_out_micros": "Price of answers",
            "parallel": "Rollouts at once",
            "cost_per_day_micros": "Most cost per day",
            "is_active": "Active",
        }
        field_classes = {"sampling": SamplingField}
        widgets = {"sampling": forms.Textarea(attrs={"rows": 3})}
        fields = ("name", "url", "model_id", "form", "key_name", "sampling", "price_in_micros", "price_cached_micros",
                  "price_out_micros", "users", "parallel", "cost_per_day_micros", "is_active")  # fmt: skip

    def clean(self) -> dict[str, Any]:
        """Refuse an address that rollouts cannot use."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        # The keys are settings of the workers alone.
        is_named = bool(given.get("key_name"))
        if problem := model_address_problem(given.get("url", ""), has_key=False, is_named=is_named):
            self.add_error("url", problem[0].upper() + problem[1:])
        return given
