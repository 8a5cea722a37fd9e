from __future__ import annotations

from django.db import models


class Alarm(models.Model):
    """A problem that an organiser must look at; shown at the top of the admin until it is settled."""

    key = models.CharField(max_length=100, unique=True, help_text="Names the problem; raising it twice is one alarm.")
    message = models.TextField(help_text="A sentence for a person.")
    address = models.CharField(max_length=200, blank=True, help_text="Path of the page to look at.")
    worker = models.CharField(
        max_length=100, blank=True, help_text="The worker that has the problem; its end settles the alarm."
    )
    raised_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-raised_at"]

    def __str__(self) -> str:
        return self.key
