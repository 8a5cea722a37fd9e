"""New versions that have to prove that they are better before they play for their agent."""

from __future__ import annotations

from django.db import models

from core.models.agent import Submission


class PromotionState(models.TextChoices):
    """The state of a promotion. All states except the first are final."""

    TESTING = "TESTING", "being tested"
    ACTIVATED = "ACTIVATED", "activated"
    BENCHED = "BENCHED", "benched"
    CHOICE = "CHOICE", "left to its owner"
    CANCELLED = "CANCELLED", "cancelled"


class Promotion(models.Model):
    """A test of a new version against its agent's active one, in unrated duels under a sequential test."""

    candidate = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="promotions")
    incumbent = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=9, choices=PromotionState.choices, default=PromotionState.TESTING)
    test = models.JSONField(help_text="Bounds of the test, fixed before the first match.")
    verdict = models.TextField(blank=True, help_text="The outcome and the reason, in sentences for people.")
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate"], condition=models.Q(state="TESTING"), name="promotion_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=models.Q(state="TESTING", decided_at=None)
                | models.Q(state__in=["ACTIVATED", "BENCHED", "CHOICE", "CANCELLED"], decided_at__isnull=False),
                name="promotion_state_is_whole",
            ),
            models.CheckConstraint(
                condition=~models.Q(candidate=models.F("incumbent")), name="promotion_versions_differ"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.candidate} for {self.incumbent}"
