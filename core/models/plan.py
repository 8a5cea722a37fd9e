"""The plan of an organiser's tournament as rows for its pages. Its format derives it from the duels."""

from __future__ import annotations

from django.db import models

from arena_kit.ranking.formats import Decision, StageKind
from core.models.agent import Submission
from core.models.limits import finite
from core.models.tournament import Tournament


class Plan(models.Model):
    """The state of a tournament by its format, from the draw of its first round."""

    tournament = models.OneToOneField(Tournament, on_delete=models.CASCADE, primary_key=True, related_name="plan")
    version = models.PositiveBigIntegerField(default=0, help_text="Raised by every change of the plan.")
    round = models.PositiveIntegerField(null=True, help_text="Earliest unfinished round; null when all are finished.")
    columns = models.JSONField(default=list, help_text="Names of the figures in the rows of its table.")
    notes = models.JSONField(default=list, help_text="Sentences about the whole tournament.")

    def __str__(self) -> str:
        return f"plan of {self.tournament}"


class PlanStage(models.Model):
    """A part of a tournament that is drawn as one unit: a group or a bracket."""

    # No separate index: the constraint begins with this column.
    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="stages", db_index=False)
    place = models.PositiveIntegerField(help_text="Place in the order of the stages, from 0.")
    key = models.CharField(max_length=30)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=12, choices=[(kind.value, kind.value) for kind in StageKind])
    columns = models.JSONField(null=True, help_text="Names of the figures in its table; null without a table.")

    class Meta:
        ordering = ["place"]
        constraints = [models.UniqueConstraint(fields=["plan", "place"], name="plan_stage_unique")]

    def __str__(self) -> str:
        return f"{self.name} of {self.plan}"


class PlanMeeting(models.Model):
    """Two participants in a round, or one with a bye. Its duels are those of the two that count in its round."""

    stage = models.ForeignKey(PlanStage, on_delete=models.CASCADE, related_name="meetings", db_index=False)
    column = models.PositiveIntegerField(help_text="Column of the stage in which it is drawn, from 0.")
    place = models.PositiveIntegerField(help_text="Place in that column from the top, from 0.")
    key = models.CharField(max_length=30)
    number = models.PositiveIntegerField(help_text="Its place in the round, from 1.")
    round = models.PositiveIntegerField(help_text="Round of the tournament.")
    side_1 = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    side_2 = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    source_1 = models.CharField(max_length=40, blank=True, help_text="Where the side comes from, e.g. winner W1.2.")
    source_2 = models.CharField(max_length=40, blank=True)
    points_1 = models.PositiveIntegerField(default=0)
    points_2 = models.PositiveIntegerField(default=0)
    score_1 = models.FloatField(default=0.0)
    score_2 = models.FloatField(default=0.0)
    decision = models.CharField(
        max_length=20, blank=True, choices=[(decision.name, decision.value) for decision in Decision]
    )
    winner = models.PositiveSmallIntegerField(null=True, help_text="The winning side, 1 or 2.")

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
    """A row of the tournament's table, or of a stage's table."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="rows")
    stage = models.ForeignKey(PlanStage, on_delete=models.CASCADE, null=True, related_name="rows", db_index=False)
    place = models.PositiveIntegerField(help_text="Place from the best, from 0.")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+", db_index=False)
    rank = models.PositiveIntegerField(help_text="Ties share: 1, 1, 3.")
    values = models.JSONField(help_text="Its figures, one for each column.")
    notes = models.JSONField(default=list, help_text="Remarks, as sentences.")

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
