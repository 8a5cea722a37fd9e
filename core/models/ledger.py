"""The append-only ledger of rated results. Standings, ratings and ranks are pure functions of it."""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.duel import Duel
from core.models.limits import finite
from core.models.user import User

CRASHED = models.Q(errors__gt=0, wins=0, losses=0, draws=0, opponent_errors=0)
"""An entry of a seat from which every match was forfeited."""


class LedgerEntry(models.Model):
    """What a submission did from one seat in one duel. Written once, never changed; see LedgerVoid."""

    duel = models.ForeignKey(Duel, on_delete=models.PROTECT, related_name="ledger_entries")
    # Without an index of its own: ledger_latest begins with it.
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="ledger_entries", db_index=False)
    opponent = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    seat = models.PositiveSmallIntegerField()
    wins = models.PositiveIntegerField()
    losses = models.PositiveIntegerField()
    draws = models.PositiveIntegerField()
    errors = models.PositiveIntegerField(help_text="Matches that the submission forfeited.")
    opponent_errors = models.PositiveIntegerField(help_text="Matches that the opponent forfeited.")
    score = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "ledger entries"
        ordering = ["pk"]
        indexes = [
            # Who has crashed is asked again and again while an edition runs: it costs nothing while nobody has.
            models.Index(fields=["submission", "id"], condition=CRASHED, name="ledger_crashes"),
            models.Index(fields=["submission", "-id"], name="ledger_latest"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["duel", "submission", "seat"], name="ledger_entry_unique"),
            models.CheckConstraint(
                condition=models.Q(seat__lte=1) & ~models.Q(submission=models.F("opponent")) & finite("score"),
                name="ledger_entry_in_range",
            ),
            models.CheckConstraint(
                condition=models.Q(wins__gt=0)
                | models.Q(losses__gt=0)
                | models.Q(draws__gt=0)
                | models.Q(errors__gt=0)
                | models.Q(opponent_errors__gt=0),
                name="ledger_entry_has_matches",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission} from seat {self.seat} in duel {self.duel_id}"


class LedgerVoid(models.Model):
    """Strikes a duel's entries from everything that is computed of the ledger."""

    duel = models.OneToOneField(Duel, on_delete=models.PROTECT, related_name="void")
    reason = models.CharField(max_length=200)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(reason=""), name="ledger_void_has_reason")]

    def __str__(self) -> str:
        return f"duel {self.duel_id} void: {self.reason}"


class Rating(models.Model):
    """Skill estimate of a submission over all editions; recomputed from the ledger."""

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="rating")
    value = models.FloatField()
    duel_count = models.PositiveIntegerField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-value"]
        indexes = [models.Index(fields=["-value", "id"], name="rating_best")]
        constraints = [models.CheckConstraint(condition=finite("value"), name="rating_is_a_number")]

    def __str__(self) -> str:
        return f"{self.submission}: {self.value:.0f}"
