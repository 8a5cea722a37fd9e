"""Analyses of matches: who could force a win after each move."""

from __future__ import annotations

from django.db import models

from core.models.duel import Duel
from core.models.job import Job, job_indexes
from core.models.sitting import Sitting
from core.models.user import User


class Analysis(Job):
    """The analysis of one match of a duel or of a sitting, on request; it is computed once and kept."""

    KIND = "analysis"
    OWNER = "asked_by"
    ENVIRONMENT = "duel__player_1__agent__environment"
    RELATED = (
        "duel__player_1__agent__environment",
        "duel__player_2__agent",
        "sitting__submission__agent__environment",
    )

    duel = models.ForeignKey(Duel, on_delete=models.CASCADE, null=True, related_name="analyses", db_index=False)
    sitting = models.OneToOneField(Sitting, on_delete=models.CASCADE, null=True, related_name="analysis")
    match_number = models.PositiveIntegerField()
    asked_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="analyses")

    class Meta(Job.Meta):
        verbose_name_plural = "analyses"
        indexes = job_indexes()
        constraints = [
            *Job.Meta.constraints,
            models.UniqueConstraint(fields=["duel", "match_number"], name="analysis_one_a_match"),
            models.CheckConstraint(condition=models.Q(match_number__gte=1), name="analysis_match_in_range"),
        ]

    def __str__(self) -> str:
        of = f"sitting {self.sitting_id}" if self.duel_id is None else f"duel {self.duel_id}"
        return f"analysis of match {self.match_number} of {of}"

    @property
    def played(self) -> Duel | Sitting:
        """The duel or the sitting with the match."""
        found = self.duel or self.sitting
        assert found is not None, "an analysis is of one of them"
        return found


class AnalysedPosition(models.Model):
    """One position of an analysed match, as `arena_kit.analysis.positions.Position` has it."""

    analysis = models.ForeignKey(Analysis, on_delete=models.CASCADE, related_name="positions", db_index=False)
    ply = models.PositiveIntegerField()
    to_move = models.PositiveSmallIntegerField(null=True, help_text="The seat that moves; empty at the end.")
    value = models.SmallIntegerField(
        null=True, help_text="For the first seat: 1 won, 0 drawn, -1 lost; empty if not solved."
    )
    plies = models.PositiveIntegerField(null=True, help_text="Steps to the end with perfect play.")
    best = models.JSONField(default=list, help_text="The best actions, ascending: a list of numbers.")

    class Meta:
        ordering = ["analysis", "ply"]
        constraints = [
            models.UniqueConstraint(fields=["analysis", "ply"], name="analysed_position_unique"),
            models.CheckConstraint(
                condition=models.Q(value=None, plies=None) | models.Q(value__gte=-1, value__lte=1, plies__isnull=False),
                name="analysed_position_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"position {self.ply} of {self.analysis}"
