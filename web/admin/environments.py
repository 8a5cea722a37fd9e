"""Environments, with the editions and the final phase that organisers start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from core.evaluations.seeds import FEWEST_HIDDEN_SEEDS, seed_lists_ensure
from core.jobs.messages import TOURNAMENT_TASK, task_request
from core.models import Environment
from web.admin.base import ModelAdmin, admin_action, links
from web.organise.actions.environments import FINAL_PHASE, REMOVE, START_EDITION

OF_DUELS = ("matches_per_duel", "play", "active_per_owner", "has_gate", "stops_early", "test_elo0", "test_elo1",
            "test_alpha", "test_beta", "test_cap")  # fmt: skip
MORE_THAN_0 = ("test_cap", "parallel_matches", "cpu_count", "memory_limit_bytes", "start_seconds", "duel_seconds",
               "validation_seconds")  # fmt: skip
NOT_BELOW_0 = ("move_seconds", "bank_seconds")
OF_EVALUATIONS = ("episodes_per_evaluation", "takes_scripts", "takes_players", "added")
FIELDSETS: tuple[tuple[str | None, tuple[str, ...]], ...] = (
    (None, ("name", "slug", "env_id", "version", "description", "image", "seats", "unavailable_because", "added",
            "is_active")),
    ("What is played", ("play", "active_per_owner", "matches_per_duel", "matches_per_validation",
                        "episodes_per_evaluation", "takes_scripts", "takes_players", "is_heavy", "parallel_matches")),
    ("Tests between two versions", ("has_gate", "stops_early", "test_elo0", "test_elo1", "test_alpha", "test_beta",
                                    "test_cap")),
    ("What a player may use", ("cpu_count", "memory_limit_bytes", "gpu_count", "move_seconds", "bank_seconds",
                               "start_seconds", "duel_seconds", "validation_seconds")),
)  # fmt: skip
"""Fields in no group here are quotas."""

if TYPE_CHECKING:
    EnvironmentModelForm = forms.ModelForm[Environment]
else:
    EnvironmentModelForm = forms.ModelForm  # not generic at run time


class EnvironmentForm(EnvironmentModelForm):
    """The settings of an environment that organisers may change and that fit its number of seats."""

    def clean_matches_per_duel(self) -> int:
        return _even(self.cleaned_data["matches_per_duel"])

    def clean_matches_per_validation(self) -> int:
        count: int = self.cleaned_data["matches_per_validation"]
        return count if self.instance.is_scored else _even(count)

    def clean(self) -> dict[str, Any]:
        # The database has the same rules, but its constraints cannot name the field, and the form does not show all.
        for name in MORE_THAN_0:
            value = self.cleaned_data.get(name)
            if value is not None and value <= 0:
                self.add_error(name, "Enter a number above 0.")
        for name in NOT_BELOW_0:
            value = self.cleaned_data.get(name)
            if value is not None and value < 0:
                self.add_error(name, "Enter 0 or a number above 0.")
        low, high = self.cleaned_data.get("test_elo0"), self.cleaned_data.get("test_elo1")
        if low is not None and high is not None and not -200 <= low < high <= 200:
            self.add_error(
                "test_elo1", "Both bounds must be between -200 and 200, and the upper bound must exceed the lower one."
            )
        for name in ("test_alpha", "test_beta"):
            value = self.cleaned_data.get(name)
            if value is not None and not 0 < value < 0.5:
                self.add_error(name, "Enter a number above 0 and below 0.5.")
        return self.cleaned_data

    def clean_quota_upload_bytes(self) -> int | None:
        size: int | None = self.cleaned_data["quota_upload_bytes"]
        if size is not None and size > settings.MAX_UPLOAD_BYTES:
            raise ValidationError(
                f"The site accepts at most {settings.MAX_UPLOAD_BYTES} bytes (upload_bytes in QUOTAS)."
            )
        return size

    def clean_episodes_per_evaluation(self) -> int:
        count: int = self.cleaned_data["episodes_per_evaluation"]
        if count < FEWEST_HIDDEN_SEEDS:
            raise ValidationError("Enter at least 2: a single hidden seed could be found from its hash.")
        return count


@admin.register(Environment)
class EnvironmentAdmin(ModelAdmin[Environment]):
    form = EnvironmentForm
    list_display = ("name", "slug", "env_id", "version", "seats", "is_active", "available", "added", "matches_per_duel",
                    "episodes_per_evaluation", "move_seconds", "bank_seconds", "duel_seconds", "editions")  # fmt: skip
    list_filter = ("is_active", ("added_file", admin.EmptyFieldListFilter), "seats")
    search_fields = ("name", "slug", "env_id")
    readonly_fields = ("slug", "env_id", "version", "name", "description", "image", "seats", "unavailable_because",
                       "added")  # fmt: skip
    actions = ("start_tournament", "start_final_phase", "remove_added")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Environment]:
        return super().get_queryset(request).annotate(edition_count=Count("tournaments"))

    def get_exclude(self, request: HttpRequest, obj: Environment | None = None) -> tuple[str, ...]:
        return OF_DUELS if obj is not None and obj.is_scored else OF_EVALUATIONS

    def get_fieldsets(self, request: HttpRequest, obj: Environment | None = None) -> Any:
        shown = list(self.get_fields(request, obj))
        groups = [(title, [name for name in names if name in shown]) for title, names in FIELDSETS]
        named = {name for _, names in groups for name in names}
        groups.append(("Quotas", [str(name) for name in shown if name not in named]))
        return [(title, {"fields": names}) for title, names in groups if names]

    def save_model(self, request: HttpRequest, obj: Environment, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if {"play", "active_per_owner"} & set(form.changed_data):
            task_request("tournament", TOURNAMENT_TASK, obj.pk)
        if obj.is_scored:
            # The number of public seeds follows the row.
            seed_lists_ensure(environment=obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # manage.py sync_environments creates environments from their specs

    def has_delete_permission(self, request: HttpRequest, obj: Environment | None = None) -> bool:
        return False

    def view_on_site(self, environment: Environment) -> str:
        return reverse("web:environment", args=[environment.slug])

    @admin.display(description="available", boolean=True)
    def available(self, environment: Environment) -> bool:
        return environment.is_available

    @admin.display(description="added by a submission", boolean=True)
    def added(self, environment: Environment) -> bool:
        return environment.is_added

    @admin.display(description="editions", ordering="edition_count")
    def editions(self, environment: Environment) -> SafeString:
        address = reverse("admin:core_tournament_changelist") + f"?environment__id__exact={environment.pk}"
        return links((address, str(getattr(environment, "edition_count", 0))))

    start_tournament = admin_action(START_EDITION)
    start_final_phase = admin_action(FINAL_PHASE)
    remove_added = admin_action(REMOVE)


def _even(count: int) -> int:
    if count % 2:
        raise ValidationError("Enter an even number, because seats alternate.")
    return count
