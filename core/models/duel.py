from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.job import PlayedJob
from core.models.limits import finite, positive
from core.models.tournament import Tournament
from core.models.verdict import Checkable


class DuelOutcome(models.TextChoices):
    """Who won a duel."""

    NONE = "", "undecided"
    PLAYER_1 = "PLAYER_1", "player 1 won"
    PLAYER_2 = "PLAYER_2", "player 2 won"
    DRAW = "DRAW", "draw"


class Duel(PlayedJob, Checkable):
    """N matches between two submissions. FAILED by a platform fault means void: it counts for nobody."""

    KIND = "duel"
    RELATED = ("tournament", "player_1__agent__environment", "player_2__agent__environment")

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="duels")
    number = models.PositiveIntegerField(help_text="Order in the schedule, from 1.")
    round = models.PositiveIntegerField(help_text="Round of the schedule, from 1.")
    player_1 = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="duels_as_player_1")
    player_2 = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="duels_as_player_2")
    outcome = models.CharField(max_length=8, choices=DuelOutcome.choices, blank=True, editable=False)
    player_1_wins = models.PositiveIntegerField(default=0, editable=False)
    player_2_wins = models.PositiveIntegerField(default=0, editable=False)
    player_1_errors = models.PositiveIntegerField(default=0, editable=False, help_text="Matches forfeited.")
    player_2_errors = models.PositiveIntegerField(default=0, editable=False)
    draws = models.PositiveIntegerField(default=0, editable=False)
    player_1_score = models.FloatField(default=0.0, editable=False)
    player_2_score = models.FloatField(default=0.0, editable=False)

    class Meta(PlayedJob.Meta):
        ordering = ["tournament", "number"]
        constraints = [
            *PlayedJob.Meta.constraints,
            *Checkable.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(
                    state="SUCCEEDED",
                    outcome__in=["PLAYER_1", "PLAYER_2", "DRAW"],
                    matches_done=models.F("player_1_wins")
                    + models.F("player_2_wins")
                    + models.F("player_1_errors")
                    + models.F("player_2_errors")
                    + models.F("draws"),
                )
                | models.Q(~models.Q(state="SUCCEEDED"), outcome=""),
                name="duel_result_is_whole",
            ),
            models.CheckConstraint(
                condition=positive("number", "round", "match_count")
                & models.Q(matches_done__lte=models.F("match_count"))
                & finite("player_1_score", "player_2_score"),
                name="duel_numbers_in_range",
            ),
            models.UniqueConstraint(fields=["tournament", "number"], name="duel_number_unique"),
            models.CheckConstraint(condition=~models.Q(player_1=models.F("player_2")), name="duel_players_differ"),
        ]

    def __str__(self) -> str:
        return f"{self.player_1} against {self.player_2}"

    @property
    def is_void(self) -> bool:
        """Whether it was struck from the ledger or could not be played (prefetch `void` for lists)."""
        return self.state in ("FAILED", "CANCELLED") or hasattr(self, "void")
