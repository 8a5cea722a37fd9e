"""Tournaments, who takes part, and how they stand."""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.environment import Environment
from core.models.limits import finite


class TournamentState(models.TextChoices):
    RUNNING = "RUNNING", "running"
    FINISHED = "FINISHED", "finished"
    CANCELLED = "CANCELLED", "cancelled"


class Tournament(models.Model):
    """Duels among participants; its edition counts from 1 per environment."""

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="tournaments")
    edition = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=TournamentState.choices, default=TournamentState.RUNNING)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["environment", "-edition"]
        constraints = [
            models.UniqueConstraint(fields=["environment", "edition"], name="tournament_edition_unique"),
            models.UniqueConstraint(
                fields=["environment"], condition=models.Q(state="RUNNING"), name="tournament_one_running"
            ),
            models.CheckConstraint(
                condition=models.Q(edition__gte=1, state="RUNNING", ended_at=None)
                | models.Q(edition__gte=1, state__in=["FINISHED", "CANCELLED"], ended_at__isnull=False),
                name="tournament_state_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.environment} edition {self.edition}"


class Participant(models.Model):
    """A submission's place in a tournament. The figures are derived from the ledger and can be recomputed."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="participants")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="participations")
    wins = models.PositiveIntegerField(default=0, help_text="Duels won.")
    draws = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0)
    points = models.PositiveIntegerField(default=0, help_text="2 for a duel won, 1 for a draw.")
    total_score = models.FloatField(default=0.0, help_text="Sum of the scores of its matches.")
    rank = models.PositiveIntegerField(default=1, help_text="Ties share: 1, 1, 3.")
    withdrawn_at = models.DateTimeField(
        null=True, editable=False, help_text="Taken out while the edition ran: its duels count for nobody's standing."
    )
    rating = models.FloatField(null=True, blank=True, help_text="As it stood when the edition ended.")

    class Meta:
        ordering = ["rank", "submission__agent__name"]
        indexes = [
            models.Index(fields=["tournament", "rank", "id"], name="participant_ranked"),
            models.Index(
                fields=["tournament"], condition=models.Q(withdrawn_at__isnull=False), name="participant_withdrawn"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["tournament", "submission"], name="participant_unique"),
            models.CheckConstraint(
                condition=models.Q(rank__gte=1, points=2 * models.F("wins") + models.F("draws"))
                & finite("total_score", "rating"),
                name="participant_adds_up",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission} in {self.tournament}"
