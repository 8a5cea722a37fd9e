"""Unrated duels that an owner or an assignment asks for."""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.assignment import Assignment
from core.models.user import User


class ChallengeKind(models.TextChoices):
    AGENT = "AGENT", "one agent"
    TOP_TEN = "TOP_TEN", "the top ten"
    BRANCH = "BRANCH", "another agent from a position"
    PLAYOUT = "PLAYOUT", "another agent from positions of a match"
    VERSION = "VERSION", "another version of its agent"
    COURSE = "COURSE", "baselines of an assignment"


class Challenge(models.Model):
    """Unrated duels of a submission against others, for its owner or an assignment; the duels are the report."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="challenges")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="challenges")
    kind = models.CharField(max_length=7, choices=ChallengeKind.choices)
    assignment = models.ForeignKey(
        Assignment,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="challenges",
        help_text="For which the arena itself asked; only its course and the owner see the results.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When its owner got the report.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["user", "created_at"], name="challenge_of_user")]

    def __str__(self) -> str:
        return f"{self.submission} against {self.get_kind_display()}"
