"""Positions in which versions of an agent made mistakes, and the moves that later versions find there."""

from __future__ import annotations

from django.db import models

from core.models.agent import Agent, Submission
from core.models.duel import Duel
from core.models.job import Job


class Blunder(models.Model):
    """The position before a mistake of a version, as `arena_kit.analysis.blunders.Blunder` has it, kept for its agent.

    The fields `holding` and `losing` are empty where playouts have found it. Of an overlooked threat `steps` is known
    and `before` is not.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="blunders", db_index=False)
    key = models.CharField(max_length=32, editable=False, help_text="A hash of the rules, the moves and the seat.")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="blunders")
    duel = models.ForeignKey(Duel, on_delete=models.CASCADE, related_name="blunders")
    match_number = models.PositiveIntegerField()
    ply = models.PositiveIntegerField(help_text="The steps before the position.")
    environment_version = models.CharField(max_length=60)
    seat = models.PositiveSmallIntegerField()
    seed = models.PositiveBigIntegerField()
    actions = models.JSONField(default=list, help_text="The actions before the position: a list of numbers.")
    played = models.PositiveIntegerField()
    holding = models.JSONField(default=list, help_text="The actions that keep the value: a list of numbers.")
    losing = models.JSONField(default=list, help_text="The actions that give something away: a list of numbers.")
    before = models.FloatField(
        null=True, help_text="The share of the seat here: 1 for a win, 0.5 for a draw; empty for an overlooked threat."
    )
    after = models.FloatField(help_text="The same after the move.")
    steps = models.PositiveSmallIntegerField(
        null=True, help_text="Of an overlooked threat: the steps after which the other side wins at the latest."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "key"], name="blunder_once_an_agent"),
            models.CheckConstraint(
                condition=models.Q(before__gte=0, before__lte=1, after__gte=0, after__lt=models.F("before")),
                name="blunder_gave_something_away",
            ),
        ]
        indexes = [models.Index(fields=["agent", "-id"], name="blunder_of_agent")]

    def __str__(self) -> str:
        return f"blunder of {self.submission} in match {self.match_number} of duel {self.duel_id}"

    @property
    def given(self) -> float:
        """The share that the move gave away; half of the match for a threat, as the share before is unknown."""
        return (0.5 if self.before is None else self.before) - self.after


class Drill(Job):
    """A version is asked for its moves in the positions of its agent's blunders."""

    KIND = "drill"
    OWNER = "submission__agent__owner"
    ENVIRONMENT = "submission__agent__environment"
    RELATED = ("submission__agent__environment", "submission__agent__owner")

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="drills")
    environment_version = models.CharField(max_length=60, help_text="Id of the rules of its positions.")

    def __str__(self) -> str:
        return f"drill of {self.submission}"


class DrillMove(models.Model):
    """The move of a version in the position of a blunder."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="drill_moves", db_index=False)
    blunder = models.ForeignKey(Blunder, on_delete=models.CASCADE, related_name="moves")
    action = models.PositiveIntegerField(null=True, help_text="Empty if the version failed here.")
    error_code = models.CharField(max_length=50, blank=True)
    is_found = models.BooleanField(null=True, help_text="Whether it keeps the value; empty if that is not solved.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "blunder"], name="drill_move_unique"),
            models.CheckConstraint(
                condition=models.Q(action__isnull=False, error_code="")
                | models.Q(~models.Q(error_code=""), action=None, is_found=False),
                name="drill_move_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"move of {self.submission} in {self.blunder}"
