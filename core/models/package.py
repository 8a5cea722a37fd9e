"""Packages: applications as they were uploaded, and the jobs that make their images."""

from __future__ import annotations

import uuid

from django.db import models

from core.models.environment import Environment
from core.models.job import Job, artifact_name, job_indexes
from core.models.user import User

PACKAGES = "packages"
"""The folder of the file store that holds the zips."""


def package_name(package: Package | None, filename: str) -> str:
    """Return the storage name of an uploaded package; nothing of the user's file name is kept."""
    return f"{PACKAGES}/{uuid.uuid4()}.zip"


class Package(models.Model):
    """An immutable numbered upload that describes an application: services, data, exports, logins."""

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="packages")
    number = models.PositiveIntegerField(help_text="From 1 within the environment.")
    archive = models.FileField(upload_to=package_name, max_length=200)
    archive_sha256 = models.CharField(max_length=64)
    archive_bytes = models.PositiveBigIntegerField()
    manifest = models.JSONField(help_text="What everyone may know of it; core.rollouts.packages has the keys.")
    memory_bytes = models.PositiveBigIntegerField(help_text="Memory of a whole world, without the browser.")
    is_public = models.BooleanField(
        default=False, help_text="Everyone may download the zip, which holds data, passwords and answers."
    )
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="packages")
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["environment", "number"]
        constraints = [
            models.UniqueConstraint(fields=["environment", "number"], name="package_number_unique"),
            models.CheckConstraint(
                condition=models.Q(number__gte=1, memory_bytes__gte=1), name="package_numbers_in_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.environment} package {self.number}"


class PackageBuild(Job):
    """Makes the images of a package with the data of one seed, and proves that two worlds of them are equal."""

    KIND = "packagebuild"
    OWNER = "package__uploaded_by"
    ENVIRONMENT = "package__environment"
    RELATED = ("package__environment",)

    package = models.ForeignKey(Package, on_delete=models.PROTECT, related_name="builds")
    seed = models.PositiveBigIntegerField(default=0, help_text="What the data are made from.")
    built = models.JSONField(default=dict, editable=False, help_text="What worlds are started from.")
    fresh = models.FileField(
        upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text="What a fresh world exports."
    )
    state_digest = models.CharField(max_length=64, blank=True, editable=False, help_text="Digest of that state.")

    class Meta(Job.Meta):
        indexes = job_indexes()
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=~models.Q(state="SUCCEEDED") | models.Q(~models.Q(state_digest=""), ~models.Q(fresh="")),
                name="packagebuild_result_is_whole",
            ),
            models.UniqueConstraint(
                fields=["package", "seed"],
                condition=models.Q(state__in=["QUEUED", "RUNNING"]),
                name="packagebuild_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"build of {self.package}" + (f" with seed {self.seed}" if self.seed else "")
