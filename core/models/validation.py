from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.job import PlayedJob


class Validation(PlayedJob):
    """A short duel of a submission against itself, or with one seat a few practice episodes; any fault fails it."""

    KIND = "validation"
    OWNER = "submission__agent__owner"
    ENVIRONMENT = "submission__agent__environment"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="validations")

    def __str__(self) -> str:
        return f"validation of {self.submission}"
