from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.job import Job, artifact_name


class Build(Job):
    """Makes the image of a submission."""

    KIND = "build"
    OWNER = "submission__agent__owner"
    ENVIRONMENT = "submission__agent__environment"

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="builds")
    base_image = models.CharField(
        max_length=200, blank=True, editable=False, help_text="Name of the base image, and its Python."
    )
    base_digest = models.CharField(max_length=100, blank=True, editable=False, help_text="Digest of the base image.")
    requirements_digest = models.CharField(max_length=100, blank=True, editable=False, help_text="Digest of packages.")
    sbom = models.FileField(
        upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text="Software bill of materials."
    )

    def __str__(self) -> str:
        return f"build of {self.submission}"
