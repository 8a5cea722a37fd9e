"""Uploads that are being received."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class UploadReservation(models.Model):
    """A place in a quota that an upload holds while it is inspected and stored; it counts until it expires."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    environment = models.ForeignKey("core.Environment", on_delete=models.CASCADE, related_name="+")
    address_digest = models.CharField(max_length=32, blank=True, help_text="Set for an anonymous client only.")
    archive_sha256 = models.CharField(max_length=64)
    archive_bytes = models.PositiveBigIntegerField()
    makes_agent = models.BooleanField(help_text="Whether it adds an active agent.")
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"upload of {self.owner} to {self.environment}"
