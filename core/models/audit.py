"""The audit log: which organiser did what."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class AuditEntry(models.Model):
    """An action, or attempt, of an organiser on one row. The database refuses to change or delete it.

    It contains names instead of references, so that it outlasts the account and the row.
    """

    class Channel(models.TextChoices):
        ADMIN = "ADMIN", "admin"
        API = "API", "API"
        SITE = "SITE", "site"
        COMMAND = "COMMAND", "command line"

    at = models.DateTimeField(db_default=Now(), db_index=True)
    channel = models.CharField(max_length=8, choices=Channel.choices)
    operator = models.CharField(max_length=200, db_index=True, help_text="User name on the site or on the machine.")
    operator_id = models.BigIntegerField(null=True, help_text="Id of the account; empty for the command line.")
    address = models.CharField(max_length=100, blank=True, help_text="Address that the request came from.")
    request_id = models.CharField(max_length=100, blank=True, help_text="The same id as in the site's log.")
    action = models.CharField(max_length=100, db_index=True)
    model = models.CharField(max_length=100, blank=True, help_text="Kind of row, as app.model.")
    object_id = models.CharField(max_length=100, blank=True)
    object_name = models.CharField(max_length=200, blank=True, help_text="Name of the row at that time.")
    note = models.TextField(blank=True, help_text="The outcome, and the reason that was given.")
    changes = models.JSONField(default=dict, help_text="Field to [before, after], without secrets.")

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-pk"]
        indexes = [models.Index(fields=["model", "object_id"], name="audit_of_object")]

    def __str__(self) -> str:
        return f"{self.operator}: {self.action} {self.object_name}".rstrip()
