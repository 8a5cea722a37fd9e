"""The version of each environment's ledger, and sums over it, so that a new result need not read the history.

All models except `Ledger` and `LedgerChange` are derived: they follow from the ledger alone, and each records the
version that it was made from.
"""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.duel import Duel
from core.models.environment import Environment
from core.models.ledger import LedgerVoid
from core.models.limits import finite
from core.models.tournament import Tournament


class Ledger(models.Model):
    """The version of an environment's ledger, raised by every change in the same transaction.

    It is a separate row, not a column of the environment, because saving an environment that was read earlier would
    reset the version. It is locked from a change to its commit, so versions become visible in order and without gaps.
    """

    environment = models.OneToOneField(Environment, on_delete=models.CASCADE, primary_key=True, related_name="ledger")
    version = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"ledger of {self.environment}, version {self.version}"


class LedgerChange(models.Model):
    """The change of one version of an environment's ledger. Written once."""

    class Kind(models.TextChoices):
        RESULT = "RESULT", "a duel's result"
        STRIKE = "STRIKE", "results were struck"
        RELEASE = "RELEASE", "the results of a tournament became public"
        WITHDRAWAL = "WITHDRAWAL", "participants were withdrawn"
        CANCEL = "CANCEL", "a tournament was cancelled"
        RECOMPUTE = "RECOMPUTE", "everything was recomputed"

    # No separate index: the constraint begins with this column.
    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="+", db_index=False)
    version = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    tournament = models.ForeignKey(
        Tournament, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, help_text="If only one."
    )
    duel = models.OneToOneField(
        Duel, on_delete=models.CASCADE, null=True, related_name="ledger_change", help_text="The duel of a new result."
    )

    class Meta:
        ordering = ["environment", "version"]
        constraints = [
            models.UniqueConstraint(fields=["environment", "version"], name="ledger_change_version_unique"),
            models.CheckConstraint(
                condition=models.Q(kind="RESULT", duel__isnull=False, tournament__isnull=False)
                | models.Q(~models.Q(kind="RESULT"), duel=None),
                name="ledger_change_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"version {self.version} of the ledger of {self.environment_id}: {self.get_kind_display()}"


class LedgerSums(models.Model):
    """The version up to which an environment's automatic tables, pair totals and live ratings are up to date.

    The row is locked during an update, so only one worker at a time makes it.
    """

    environment = models.OneToOneField(
        Environment, on_delete=models.CASCADE, primary_key=True, related_name="ledger_sums"
    )
    version = models.PositiveBigIntegerField(default=0)
    rated_version = models.PositiveBigIntegerField(default=0, help_text="Last version that changed rated results.")
    rewritten_version = models.PositiveBigIntegerField(default=0, help_text="Last version that struck a rated result.")
    checkpoint_version = models.PositiveBigIntegerField(default=0, help_text="Version of the newest checkpoint.")
    last_result_at = models.DateTimeField(null=True, help_text="When the newest rated entry was written.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    rated_version__lte=models.F("version"), rewritten_version__lte=models.F("rated_version")
                ),
                name="ledger_sums_in_order",
            )
        ]

    def __str__(self) -> str:
        return f"sums of the ledger of {self.environment}, version {self.version}"


class PairTotal(models.Model):
    """All rated matches of two submissions with the same first seat; a forfeit is a win for the other submission."""

    # No separate indexes: the indexes below begin with these columns.
    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="+", db_index=False)
    first = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+", db_index=False)
    second = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    wins = models.PositiveBigIntegerField(default=0, help_text="Wins of the first submission.")
    draws = models.PositiveBigIntegerField(default=0)
    losses = models.PositiveBigIntegerField(default=0)
    duel_count = models.PositiveIntegerField(default=0, help_text="Duels with the first submission as player_1.")
    latest_duel = models.PositiveBigIntegerField(default=0, help_text="Id of their newest duel.")

    class Meta:
        indexes = [models.Index(fields=["environment"], name="pair_total_environment")]
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="pair_total_unique"),
            models.CheckConstraint(condition=~models.Q(first=models.F("second")), name="pair_total_players_differ"),
        ]

    def __str__(self) -> str:
        return f"{self.first_id} against {self.second_id}"


class LiveRating(models.Model):
    """The unrounded Elo of a submission with rated duels, and what its next step depends on."""

    submission = models.OneToOneField(
        Submission, on_delete=models.CASCADE, primary_key=True, related_name="live_rating"
    )
    value = models.FloatField()
    duel_count = models.PositiveIntegerField()

    class Meta:
        constraints = [models.CheckConstraint(condition=finite("value"), name="live_rating_is_finite")]

    def __str__(self) -> str:
        return f"{self.submission_id}: {self.value:.0f}"


class LiveCheckpoint(models.Model):
    """A live rating as it was after a version of the ledger, from which a strike of a later duel begins anew.

    Every submission that had rated duels at that version has a row.
    """

    # No separate index: the constraint begins with this column.
    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="+", db_index=False)
    version = models.PositiveBigIntegerField()
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    value = models.FloatField()
    duel_count = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["environment", "version", "submission"], name="live_checkpoint_unique"),
            models.CheckConstraint(condition=finite("value"), name="live_checkpoint_is_finite"),
        ]

    def __str__(self) -> str:
        return f"{self.submission_id} at version {self.version}: {self.value:.0f}"


class FollowedStrike(models.Model):
    """A strike that tables, pair totals and live ratings leave out already."""

    void = models.OneToOneField(LedgerVoid, on_delete=models.CASCADE, primary_key=True, related_name="followed")

    def __str__(self) -> str:
        return f"followed: {self.void}"
