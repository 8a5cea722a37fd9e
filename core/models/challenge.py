"""Unrated duels that an owner asks for."""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.user import User


class ChallengeKind(models.TextChoices):
    AGENT = "AGENT", "one agent"
    TOP_TEN = "TOP_TEN", "the top ten"
    BRANCH = "BRANCH", "another agent from a position"
    PLAYOUT = "PLAYOUT", "another agent from positions of a match"
    VERSION = "VERSION", "another version of its agent"


class Challenge(models.Model):
    """Unrated duels of a submission against others, at its owner's request; the report is derived from the duels."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="challenges")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="challenges")
    kind = models.CharField(max_length=7, choices=ChallengeKind.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When its owner got the report.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["user", "created_at"], name="challenge_of_user")]

    def __str__(self) -> str:
        return f"{self.submission} against {self.get_kind_display()}"
