"""The plan of an organisers' tournament as rows: what its pages draw. Derived from its duels by its format."""

from __future__ import annotations

from django.db import models

from arena_kit.ranking.formats import Decision, StageKind
from core.models.agent import Submission
from core.models.limits import finite
from core.models.tournament import Tournament


class Plan(models.Model):
    """How a tournament stands by its format, from the drawing of its first round on."""

    tournament = models.OneToOneField(Tournament, on_delete=models.CASCADE, primary_key=True, related_name="plan")
    version = models.PositiveBigIntegerField(default=0, help_text="Raised whenever anything of the plan changes.")
    round = models.PositiveIntegerField(null=True, help_text="The earliest with something to play; null when over.")
    columns = models.JSONField(default=list, help_text="Names of the figures of the table's rows.")
    notes = models.JSONField(default=list, help_text="Sentences on the tournament as a whole.")

    def __str__(self) -> str:
        return f"plan of {self.tournament}"


class PlanStage(models.Model):
    """A part of a tournament that is drawn as one thing: a group, a bracket."""

    # Without an index of its own: the constraint begins with it.
    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="stages", db_index=False)
    place = models.PositiveIntegerField(help_text="In the order in which stages are drawn, from 0.")
    key = models.CharField(max_length=30)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=12, choices=[(kind.value, kind.value) for kind in StageKind])
    columns = models.JSONField(null=True, help_text="Names of the figures of its table's rows; null without a table.")

    class Meta:
        ordering = ["place"]
        constraints = [models.UniqueConstraint(fields=["plan", "place"], name="plan_stage_unique")]

    def __str__(self) -> str:
        return f"{self.name} of {self.plan}"


class PlanMeeting(models.Model):
    """Two participants in a round, or one who rests. Its duels are those of the two that count in its round."""

    stage = models.ForeignKey(PlanStage, on_delete=models.CASCADE, related_name="meetings", db_index=False)
    column = models.PositiveIntegerField(help_text="In which of the stage's rounds it is drawn, from 0.")
    place = models.PositiveIntegerField(help_text="In that round, top to bottom, from 0.")
    key = models.CharField(max_length=30)
    number = models.PositiveIntegerField(help_text="Its place in the round, from 1.")
    round = models.PositiveIntegerField(help_text="Of the tournament.")
    side_1 = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    side_2 = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    source_1 = models.CharField(max_length=40, blank=True, help_text="Where the side comes from: winner W1.2.")
    source_2 = models.CharField(max_length=40, blank=True)
    points_1 = models.PositiveIntegerField(default=0)
    points_2 = models.PositiveIntegerField(default=0)
    score_1 = models.FloatField(default=0.0)
    score_2 = models.FloatField(default=0.0)
    decision = models.CharField(
        max_length=70, blank=True, choices=[(decision.value, decision.value) for decision in Decision]
    )
    winner = models.PositiveSmallIntegerField(null=True, help_text="The side that has won, 1 or 2.")

    class Meta:
        ordering = ["stage", "column", "place"]
        constraints = [
            models.UniqueConstraint(fields=["stage", "column", "place"], name="plan_meeting_unique"),
            models.CheckConstraint(
                condition=(models.Q(winner=None) | models.Q(winner__in=[1, 2])) & finite("score_1", "score_2"),
                name="plan_meeting_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} of {self.stage}"


class PlanRow(models.Model):
    """A line of the tournament's table, or of a stage's."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="rows")
    stage = models.ForeignKey(PlanStage, on_delete=models.CASCADE, null=True, related_name="rows", db_index=False)
    place = models.PositiveIntegerField(help_text="From the best to the worst, from 0.")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+", db_index=False)
    rank = models.PositiveIntegerField(help_text="Ties share: 1, 1, 3.")
    values = models.JSONField(help_text="Its figures, one for each column.")
    notes = models.JSONField(default=list, help_text="Sentences.")

    class Meta:
        ordering = ["stage", "place"]
        constraints = [
            models.UniqueConstraint(fields=["stage", "place"], name="plan_row_in_stage_unique"),
            models.UniqueConstraint(
                fields=["plan", "place"], condition=models.Q(stage=None), name="plan_row_in_table_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rank}. of {self.plan}"
