"""The append-only ledger of rated results. Standings, ratings and ranks are pure functions of it."""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.duel import Duel
from core.models.environment import Environment
from core.models.limits import finite
from core.models.user import User

CRASHED = models.Q(errors__gt=0, wins=0, losses=0, draws=0, opponent_errors=0)
"""Matches an entry in which every match was forfeited from that seat."""


class LedgerEntry(models.Model):
    """The results of a submission from one seat in one duel. Written once and never changed; see LedgerVoid."""

    duel = models.ForeignKey(Duel, on_delete=models.PROTECT, related_name="ledger_entries")
    # No separate index: ledger_latest begins with this column.
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
            # Running editions often ask for crashes; the condition makes the query cheap while no one has crashed.
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
    """Strikes a duel's entries from everything that is computed from the ledger."""

    duel = models.OneToOneField(Duel, on_delete=models.PROTECT, related_name="void")
    reason = models.CharField(max_length=200)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~models.Q(reason=""), name="ledger_void_has_reason")]

    def __str__(self) -> str:
        return f"duel {self.duel_id} void: {self.reason}"


class Rating(models.Model):
    """Strength of a submission over all editions, on the Elo scale; recomputed from the ledger.

    The official rating is fitted to all matches. A submission that may not play, or has a newer version that has
    played, is rated without a rank. See docs/reference/ratings.md.
    """

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="rating")
    value = models.FloatField()
    low = models.FloatField(help_text="Lower end of its 95% interval.")
    high = models.FloatField(help_text="Upper end of its 95% interval.")
    rank = models.PositiveIntegerField(null=True, blank=True, help_text="Ties share: 1, 1, 3.")
    best_rank = models.PositiveIntegerField(
        null=True, blank=True, help_text="Best of the ranks that are compatible with the results."
    )
    worst_rank = models.PositiveIntegerField(null=True, blank=True, help_text="Worst of those ranks.")
    best_chance = models.FloatField(null=True, blank=True, help_text="Probability to be the strongest ranked one.")
    live = models.FloatField(
        help_text="Elo, updated after every duel, or with the next fit if a great many were played."
    )
    duel_count = models.PositiveIntegerField()
    match_count = models.PositiveIntegerField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-value"]
        indexes = [models.Index(fields=["-value", "id"], name="rating_best")]
        constraints = [
            models.CheckConstraint(
                condition=finite("low", "high", "live")
                & models.Q(low__lte=models.F("value"), high__gte=models.F("value")),
                name="rating_in_interval",
            ),
            models.CheckConstraint(
                condition=models.Q(rank=None, best_rank=None, worst_rank=None, best_chance=None)
                | models.Q(
                    rank__isnull=False,
                    best_rank__isnull=False,
                    worst_rank__isnull=False,
                    best_chance__isnull=False,
                    best_rank__gte=1,
                    rank__gte=models.F("best_rank"),
                    worst_rank__gte=models.F("rank"),
                    best_chance__gte=0,
                    best_chance__lte=1,
                ),
                name="rating_rank_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission}: {self.value:.0f}"

    @property
    def is_reference(self) -> bool:
        """Return whether the scale hangs on it, so that its rating has no error."""
        return self.low == self.high


class RatingPool(models.Model):
    """All submissions rated together: the result of an environment's last fit, and what it was fitted to."""

    environment = models.OneToOneField(Environment, on_delete=models.CASCADE, related_name="rating_pool")
    mean = models.FloatField(default=1500.0, db_default=1500.0, help_text="Expected rating of a first version.")
    spread = models.FloatField(help_text="Fitted standard deviation of the pool.")
    first_seat = models.FloatField(help_text="Points that the first seat is worth.")
    first_seat_low = models.FloatField(help_text="Lower end of its 95% interval.")
    first_seat_high = models.FloatField(help_text="Upper end of its 95% interval.")
    is_connected = models.BooleanField(help_text="Whether matches connect all players.")
    duel_count = models.PositiveIntegerField(help_text="Duels behind the official ratings.")
    ledger_version = models.PositiveBigIntegerField(default=0, help_text="Version of the ledger that was fitted.")
    fitted_at = models.DateTimeField()
    fit_seconds = models.FloatField(default=0.0, help_text="Duration of the last fit; the next one waits accordingly.")
    failed_at = models.DateTimeField(null=True, help_text="When a fit last failed since the last good one.")
    told_at = models.DateTimeField(null=True, help_text="Last moment of the history that people have been told of.")
    looked_at = models.DateTimeField(null=True, help_text="When it was last asked whether other versions have a rank.")
    looked_version = models.PositiveBigIntegerField(default=0, help_text="Version of the ledger at that time.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=finite("spread", "first_seat_low", "first_seat_high", "fit_seconds")
                & models.Q(
                    spread__gt=0,
                    fit_seconds__gte=0,
                    first_seat__gte=models.F("first_seat_low"),
                    first_seat__lte=models.F("first_seat_high"),
                ),
                name="rating_pool_in_range",
            )
        ]

    def __str__(self) -> str:
        return f"ratings of {self.environment}"


class RatingPoint(models.Model):
    """The rating of a submission at a moment. All submissions ranked then have a point: together a leaderboard.

    Written when an edition ends, and at intervals during a ladder. Old moments are thinned out; the ledger never is.
    """

    # No separate indexes: the indexes below begin with these columns.
    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="+", db_index=False)
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="rating_points", db_index=False)
    at = models.DateTimeField()
    value = models.FloatField()
    low = models.FloatField(null=True, help_text="Lower end of its 95% interval. Empty for the earliest editions.")
    high = models.FloatField(null=True, help_text="Upper end of its 95% interval.")
    rank = models.PositiveIntegerField(null=True, help_text="Ties share: 1, 1, 3. Empty where it was not kept.")
    best_rank = models.PositiveIntegerField(null=True, help_text="Best rank compatible with the results then.")
    worst_rank = models.PositiveIntegerField(null=True, help_text="Worst of those ranks.")
    live = models.FloatField(null=True, help_text="Elo.")

    class Meta:
        ordering = ["at", "pk"]
        indexes = [models.Index(fields=["environment", "at"], name="rating_point_moment")]
        constraints = [
            models.UniqueConstraint(fields=["submission", "at"], name="rating_point_unique"),
            models.CheckConstraint(
                condition=finite("value", "low", "high", "live")
                & (
                    models.Q(low=None, high=None)
                    | models.Q(
                        low__isnull=False, high__isnull=False, low__lte=models.F("value"), high__gte=models.F("value")
                    )
                )
                & (
                    models.Q(rank=None, best_rank=None, worst_rank=None)
                    | models.Q(
                        rank__isnull=False,
                        best_rank__isnull=False,
                        worst_rank__isnull=False,
                        best_rank__gte=1,
                        rank__gte=models.F("best_rank"),
                        worst_rank__gte=models.F("rank"),
                    )
                ),
                name="rating_point_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission} at {self.at:%Y-%m-%d %H:%M}: {self.value:.0f}"
