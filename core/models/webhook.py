"""Webhooks: organisers' addresses for events, and the deliveries to them."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.core.validators import MaxLengthValidator
from django.db import models

from core.models.environment import Environment
from core.models.user import User
from core.sealing import SealedField


class EventKind(models.TextChoices):
    """The events that webhooks can get."""

    TOURNAMENT_STARTED = "TOURNAMENT_STARTED", "a tournament begins"
    TOURNAMENT_ENDED = "TOURNAMENT_ENDED", "a tournament is over"
    LEADER_CHANGED = "LEADER_CHANGED", "another agent leads a table"
    ALARM = "ALARM", "an alarm is raised"
    TEST = "TEST", "a test by an organiser"


class WebhookFormat(models.TextChoices):
    GENERIC = "GENERIC", "JSON of the arena, signed"
    DISCORD = "DISCORD", "Discord"
    SLACK = "SLACK", "Slack"


class Webhook(models.Model):
    """An address that gets events. It is secret: anyone who knows a Discord address can post there."""

    name = models.CharField(max_length=100, unique=True)
    secret_url = SealedField(
        "address",
        max_length=1500,
        validators=[MaxLengthValidator(500)],
        help_text="It is never shown again after it is saved.",
    )
    secret = SealedField(max_length=300, editable=False, help_text="Key of the signature, for the receiver.")
    format = models.CharField(max_length=7, choices=WebhookFormat.choices, default=WebhookFormat.GENERIC)
    kinds = models.JSONField(default=list, help_text="Events that are sent.")
    environment = models.ForeignKey(
        Environment, on_delete=models.CASCADE, null=True, blank=True, help_text="Empty: all environments."
    )
    is_active = models.BooleanField(default=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, editable=False, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def host(self) -> str:
        """The part of its address that may be shown."""
        return urlsplit(self.secret_url).hostname or ""


class DeliveryState(models.TextChoices):
    WAITING = "WAITING", "waiting"
    DONE = "DONE", "delivered"
    GIVEN_UP = "GIVEN_UP", "given up"


class Delivery(models.Model):
    """One event for one webhook. The row is the truth; a message only wakes a worker."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.UUIDField(help_text="The same for all webhooks and every attempt.")
    kind = models.CharField(max_length=20, choices=EventKind.choices)
    body = models.TextField(help_text="The body as sent and signed.")
    state = models.CharField(max_length=8, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempt = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True, help_text="Time of the next attempt.")
    response_code = models.PositiveIntegerField(null=True, help_text="The receiver's last answer.")
    error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["next_at"], condition=models.Q(state="WAITING"), name="delivery_due"),
            models.Index(fields=["created_at"], name="delivery_created"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state="WAITING", next_at__isnull=False, done_at=None)
                | models.Q(state__in=["DONE", "GIVEN_UP"], next_at=None, done_at__isnull=False),
                name="delivery_state_is_whole",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} to {self.webhook}"
