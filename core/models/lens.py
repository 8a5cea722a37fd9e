"""Other views of an environment's results than its ratings."""

from __future__ import annotations

from django.db import models

from core.models.environment import Environment


class Lens(models.Model):
    """Who beats whom, and whether predictions came true: computed of the ledger with the ratings, and kept like them.

    What the columns hold is said, and read, in `core/ratings/lens_selectors.py`.
    """

    environment = models.OneToOneField(Environment, on_delete=models.CASCADE, related_name="lens")
    nash = models.JSONField(default=list, help_text="Ranking by Nash averaging, the best first.")
    cycles = models.JSONField(default=list, help_text="Threes that beat each other in a circle, the clearest first.")
    cycle_count = models.PositiveIntegerField(help_text="How many such threes there are, whether kept or not.")
    pair_count = models.PositiveIntegerField(help_text="Pairs that have met, among those of the ranking.")
    clear_count = models.PositiveIntegerField(help_text="Those of them in which one clearly beats the other.")
    calibration = models.JSONField(null=True, blank=True, help_text="Null while nothing was predicted.")
    ledger_version = models.PositiveBigIntegerField(default=0, help_text="The ledger's, of which it was computed.")
    computed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "lenses"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(clear_count__lte=models.F("pair_count")), name="lens_clear_pairs_have_met"
            )
        ]

    def __str__(self) -> str:
        return f"lens of {self.environment}"
