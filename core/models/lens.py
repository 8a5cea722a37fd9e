"""Views of an environment's results besides its ratings."""

from __future__ import annotations

from django.db import models

from core.models.environment import Environment


class Lens(models.Model):
    """Who beats whom, and whether predictions came true; computed from the ledger along with the ratings.

    `core/ratings/lens_selectors.py` describes and reads the columns.
    """

    environment = models.OneToOneField(Environment, on_delete=models.CASCADE, related_name="lens")
    nash = models.JSONField(default=list, help_text="Ranking by Nash averaging, best first.")
    cycles = models.JSONField(default=list, help_text="Triples that beat each other in a cycle, clearest first.")
    cycle_count = models.PositiveIntegerField(help_text="Number of such triples, including those not kept.")
    pair_count = models.PositiveIntegerField(help_text="Pairs in the ranking that have met.")
    clear_count = models.PositiveIntegerField(help_text="Pairs of these in which one clearly beats the other.")
    calibration = models.JSONField(null=True, blank=True, help_text="Null while nothing was predicted.")
    ledger_version = models.PositiveBigIntegerField(default=0, help_text="Version of the ledger it was computed from.")
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
