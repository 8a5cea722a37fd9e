from __future__ import annotations

from django.db import models


class HostState(models.TextChoices):
    """The state of a host that the arena has created."""

    CREATING = "CREATING", "is created"
    READY = "READY", "ready"
    DRAINING = "DRAINING", "is drained"
    ENDED = "ENDED", "ended"
    FAILED = "FAILED", "failed"


class WorkerHost(models.Model):
    """A host of workers made by `manage.py autoscale`. A drained one begins nothing more and is then removed."""

    name = models.CharField(max_length=80, unique=True, help_text="Its host name, as its workers say it.")
    provider = models.CharField(max_length=20, help_text="What created it, e.g. digitalocean.")
    state = models.CharField(max_length=10, choices=HostState.choices, default=HostState.CREATING)
    reason = models.TextField(blank=True, help_text="Why it was created, drained or given up.")
    created_at = models.DateTimeField(help_text="By the database's clock, as all times here.")
    ready_at = models.DateTimeField(null=True, help_text="When its workers were first heard of.")
    drained_at = models.DateTimeField(null=True, help_text="Since when its workers begin nothing more.")
    ended_at = models.DateTimeField(null=True, help_text="When it was gone.")

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["ENDED", "FAILED"], ended_at__isnull=False)
                | models.Q(state__in=["CREATING", "READY"], ended_at=None, drained_at=None)
                | models.Q(state="DRAINING", ended_at=None, drained_at__isnull=False),
                name="workerhost_state_is_whole",
            ),
        ]
        indexes = [models.Index(fields=["state", "name"], name="workerhost_state")]

    def __str__(self) -> str:
        return self.name
