"""The audit log: who among the organisers did what."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class AuditEntry(models.Model):
    """One thing that an organiser did to one row, or tried to. The database refuses to change or delete it.

    It holds names instead of references, so that it stays when the account or the row goes.
    """

    class Channel(models.TextChoices):
        ADMIN = "ADMIN", "admin"
        API = "API", "API"
        SITE = "SITE", "site"
        COMMAND = "COMMAND", "command line"

    at = models.DateTimeField(db_default=Now(), db_index=True)
    channel = models.CharField(max_length=8, choices=Channel.choices)
    operator = models.CharField(max_length=200, db_index=True, help_text="User name here, or on the machine.")
    operator_id = models.BigIntegerField(null=True, help_text="Of the account; none on the command line.")
    address = models.CharField(max_length=100, blank=True, help_text="Where the request came from.")
    request_id = models.CharField(max_length=100, blank=True, help_text="As in the log of the site.")
    action = models.CharField(max_length=100, db_index=True)
    model = models.CharField(max_length=100, blank=True, help_text="What kind of row, as app.model.")
    object_id = models.CharField(max_length=100, blank=True)
    object_name = models.CharField(max_length=200, blank=True, help_text="What the row was called then.")
    note = models.TextField(blank=True, help_text="What came of it, and the reason that was given.")
    changes = models.JSONField(default=dict, help_text="Field to [before, after]; never a secret.")

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-pk"]
        indexes = [models.Index(fields=["model", "object_id"], name="audit_of_object")]

    def __str__(self) -> str:
        return f"{self.operator}: {self.action} {self.object_name}".rstrip()
