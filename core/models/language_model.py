"""Language models that agents reach through the gateway; organisers keep them."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

model_name = RegexValidator(
    r"\A[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9])?\Z",
    "Use letters, digits, dots, hyphens and underscores, with a letter or digit at both ends.",
)


class ModelForm(models.TextChoices):
    """How an endpoint is spoken to."""

    OPENAI = "openai", "chat completions"
    GEMINI = "gemini", "generateContent"


class ModelUsers(models.TextChoices):
    """Who may choose a model for a batch."""

    STAFF = "STAFF", "organisers"
    MEMBERS = "MEMBERS", "everyone with an account"


def _price(what: str) -> models.PositiveBigIntegerField[int, int]:
    return models.PositiveBigIntegerField(default=0, help_text=f"Millionths of the unit for a million tokens {what}.")


class LanguageModel(models.Model):
    """A language model and its endpoint. The key is never here: it is in a secret of the workers."""

    name = models.CharField(max_length=80, unique=True, validators=[model_name])
    url = models.CharField(max_length=300, help_text="Address of the endpoint, such as https://example.org/v1.")
    model_id = models.CharField(max_length=200, help_text="Its name at the endpoint.")
    form = models.CharField(max_length=6, choices=ModelForm.choices, default=ModelForm.OPENAI)
    key_name = models.CharField(
        max_length=50, blank=True, help_text="Name of its key in MODEL_KEYS of the workers; empty for none."
    )
    price_in_micros = _price("of questions")
    price_cached_micros = _price("of questions that were cached")
    price_out_micros = _price("of answers")
    parallel = models.PositiveSmallIntegerField(default=4, help_text="Rollouts that use it at once. 0: no limit.")
    sampling = models.JSONField(
        default=dict, blank=True, help_text="Fixed parameters of every request, such as a temperature."
    )
    users = models.CharField(max_length=7, choices=ModelUsers.choices, default=ModelUsers.STAFF)
    cost_per_day_micros = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="From this cost on, no rollout with it begins that day (UTC). Empty: no limit."
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(form__in=ModelForm.values, users__in=ModelUsers.values), name="languagemodel_known"
            )
        ]

    def __str__(self) -> str:
        return self.name
