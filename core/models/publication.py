from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.job import Job


class Publication(Job):
    """Publishes the source of a public submission in the arena's git repository."""

    KIND = "publication"
    OWNER = "submission__agent__owner"
    ENVIRONMENT = "submission__agent__environment"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="publications")
    url = models.URLField(blank=True, max_length=500)
    folder = models.CharField(
        max_length=150, blank=True, editable=False, help_text="Its folder in the repository, known before the push."
    )
    removed_at = models.DateTimeField(
        null=True, editable=False, help_text="When its folder was removed; the repository's history still has it."
    )

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(removed_at=None) | models.Q(ended_at__isnull=False, url="") & ~models.Q(folder=""),
                name="publication_removed_was_there",
            ),
        ]

    def __str__(self) -> str:
        return f"publication of {self.submission}"
