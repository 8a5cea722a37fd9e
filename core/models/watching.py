"""Duels that people watch while they are played, and what is told of them meanwhile."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from core.models.duel import Duel, DuelOutcome


class WatchedDuel(models.Model):
    """A running duel that people watch. Its worker stores its moves as long as they do, and none of other duels."""

    duel = models.OneToOneField(Duel, on_delete=models.CASCADE, primary_key=True, related_name="watched")
    asked_at = models.DateTimeField(help_text="When a page that shows it was asked for last.")

    def __str__(self) -> str:
        return f"duel {self.duel_id}, watched until {self.asked_at}"


class ToldMoves(models.Model):
    """Moves of a match that its worker stored while the duel was running.

    The record of the duel is the truth, and replaces them all when the duel is over.
    """

    duel = models.ForeignKey(Duel, on_delete=models.CASCADE, related_name="told_moves", db_index=False)
    claim_token = models.UUIDField(
        help_text="Token of the worker that told them: those of an earlier attempt are void."
    )
    match = models.PositiveIntegerField(help_text="Its number, from 1.")
    begin = models.PositiveIntegerField(help_text="How many actions of the match come before these.")
    actions = models.JSONField(help_text="As in the record of a match, its opening included.")
    is_followed = models.BooleanField(
        default=False, help_text="Whether the match is told while it is played, not only once it is over."
    )
    outcome = models.CharField(
        max_length=8, choices=DuelOutcome.choices, blank=True, help_text="Of the match, with its last actions."
    )
    faulty_player = models.PositiveSmallIntegerField(null=True, help_text="Who forfeits the match: 0 or 1.")
    score_1 = models.FloatField(default=0.0)
    score_2 = models.FloatField(default=0.0)
    told_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["duel", "match", "begin"]
        constraints = [
            models.UniqueConstraint(fields=["duel", "claim_token", "match", "begin"], name="told_moves_unique"),
        ]

    def __str__(self) -> str:
        return f"{len(self.actions)} actions of match {self.match} of duel {self.duel_id}"
