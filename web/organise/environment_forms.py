"""The form of an environment: what organisers may change, as far as it fits its number of seats."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from core.evaluations.seeds import FEWEST_HIDDEN_SEEDS
from core.models import Environment
from core.models.quota import QUOTA_FIELDS
from web.organise.forms import QUOTA_LABELS, Part, PartedForm

OF_DUELS = ("matches_per_duel", "play", "active_per_owner", "all_pairs_up_to", "has_gate", "stops_early", "test_elo0",
            "test_elo1", "test_alpha", "test_beta", "test_cap")  # fmt: skip
OF_EPISODES = ("episodes_per_evaluation", "takes_scripts")
MORE_THAN_0 = ("test_cap", "parallel_matches", "cpu_count", "memory_limit_bytes", "start_seconds", "duel_seconds",
               "validation_seconds")  # fmt: skip
NOT_BELOW_0 = ("move_seconds", "bank_seconds")


class EnvironmentForm(PartedForm):
    """The settings of an environment. Its name and its rules stand in its files."""

    PARTS: tuple[Part, ...] = (
        ("Whose it is", ("course",)),
        ("What is played", ("play", "active_per_owner", "all_pairs_up_to", "matches_per_duel", "matches_per_validation",
                            "episodes_per_evaluation", "takes_scripts", "takes_players", "is_heavy",
                            "parallel_matches")),
        ("Tests between two versions", ("has_gate", "stops_early", "test_elo0", "test_elo1", "test_alpha", "test_beta",
                                        "test_cap")),
        ("What a player may use", ("cpu_count", "memory_limit_bytes", "gpu_count", "move_seconds", "bank_seconds",
                                   "start_seconds", "duel_seconds", "validation_seconds")),
        ("Quotas", QUOTA_FIELDS),
    )  # fmt: skip

    class Meta:
        model = Environment
        labels = {
            **QUOTA_LABELS,
            "has_gate": "Test new versions first",
            "test_elo0": "Lower bound",
            "test_elo1": "Upper bound",
            "test_alpha": "Wrongly accepted",
            "test_beta": "Wrongly refused",
            "test_cap": "Most pairs",
            "cpu_count": "Processors",
            "gpu_count": "Graphics cards",
            "memory_limit_bytes": "Memory in bytes",
        }
        fields = (
            "course",
            *OF_DUELS,
            *OF_EPISODES,
            "takes_players",
            "matches_per_validation",
            "is_heavy",
            "parallel_matches",
            "gpu_count",
            "memory_limit_bytes",
            "cpu_count",
            "move_seconds",
            "bank_seconds",
            "start_seconds",
            "duel_seconds",
            "validation_seconds",
            *QUOTA_FIELDS,
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        unused = (*OF_DUELS, *OF_EPISODES) if self.instance.is_app else OF_DUELS
        for name in unused if self.instance.is_scored else (*OF_EPISODES, "takes_players"):
            del self.fields[name]

    def clean_matches_per_duel(self) -> int:
        return _even(self.cleaned_data["matches_per_duel"])

    def clean_matches_per_validation(self) -> int:
        count: int = self.cleaned_data["matches_per_validation"]
        return count if self.instance.is_scored else _even(count)

    def clean(self) -> dict[str, Any]:
        # The database has the same rules, but its constraints cannot name the field, and the form does not show all.
        data = self.cleaned_data
        for names, is_wrong, sentence in (
            (MORE_THAN_0, lambda value: value <= 0, "Enter a number above 0."),
            (NOT_BELOW_0, lambda value: value < 0, "Enter 0 or a number above 0."),
            (("test_alpha", "test_beta"), lambda value: not 0 < value < 0.5, "Enter a number above 0 and below 0.5."),
        ):
            for name in names:
                if data.get(name) is not None and is_wrong(data[name]):
                    self.add_error(name, sentence)
        low, high = data.get("test_elo0"), data.get("test_elo1")
        if low is not None and high is not None and not -200 <= low < high <= 200:
            self.add_error(
                "test_elo1", "Both bounds must be between -200 and 200, and the upper bound must exceed the lower one."
            )
        return data

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


def _even(count: int) -> int:
    if count % 2:
        raise ValidationError("Enter an even number, because seats alternate.")
    return count
