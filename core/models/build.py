from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.job import Job


class Build(Job):
    """Makes the image of a submission."""

    KIND = "build"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="builds")

    def __str__(self) -> str:
        return f"build of {self.submission}"
