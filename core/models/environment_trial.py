"""Trials of environments: folders as organisers uploaded them, and what came of them in a container."""

from __future__ import annotations

import uuid

from django.db import models

from core.models.environment import Environment
from core.models.job import Job, artifact_name, job_indexes
from core.models.user import User

FOLDERS = "environment-folders"
"""The folder of the file store that holds the zips."""


def folder_name(trial: EnvironmentTrial | None, filename: str) -> str:
    """Return the storage name of an uploaded folder; nothing of the user's file name is kept."""
    return f"{FOLDERS}/{uuid.uuid4()}.zip"


class EnvironmentTrial(Job):
    """Tries the uploaded folder of an environment, whose code is taken for hostile. Superusers put it live."""

    KIND = "environmenttrial"
    OWNER = "uploaded_by"
    ENVIRONMENT = "environment"
    RELATED = ("environment",)

    archive = models.FileField(upload_to=folder_name, max_length=200)
    archive_sha256 = models.CharField(max_length=64, editable=False)
    slug = models.SlugField(max_length=50, editable=False, help_text="As info.yml has it.")
    version = models.PositiveIntegerField(editable=False, help_text="As info.yml has it.")
    environment = models.ForeignKey(
        Environment,
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="trials",
        help_text="The environment of this slug, once there is one.",
    )
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, editable=False, related_name="environment_trials")
    report = models.FileField(
        upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text="Lines of the verdict, as JSON."
    )
    live_at = models.DateTimeField(null=True, editable=False, help_text="When a superuser put it live.")

    class Meta(Job.Meta):
        verbose_name = "folder of an environment"
        verbose_name_plural = "folders of environments"
        indexes = job_indexes()
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=~models.Q(state="SUCCEEDED") | ~models.Q(report=""), name="environmenttrial_has_report"
            ),
            models.CheckConstraint(
                condition=models.Q(live_at=None) | models.Q(state="SUCCEEDED", environment__isnull=False),
                name="environmenttrial_live_is_tried",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.slug}-v{self.version}, folder {self.pk}"
