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

    def __str__(self) -> str:
        return f"publication of {self.submission}"
