"""Batches: rollouts that were asked for together."""

from __future__ import annotations

import uuid

from django.db import models

from core.models.agent import Submission
from core.models.environment import Environment
from core.models.language_model import LanguageModel
from core.models.package import Package
from core.models.user import User


class RolloutAgent(models.TextChoices):
    """The kind of agent that works at the tasks of a batch."""

    SCRIPTED = "SCRIPTED", "the oracle of each task"
    NULL = "NULL", "nothing"
    MODEL = "MODEL", "a language model"
    SUBMISSION = "SUBMISSION", "a version of an agent"


class BatchPurpose(models.TextChoices):
    """Why a batch was made."""

    ASKED = "ASKED", "a person asked for it"
    RANKING = "RANKING", "the board"
    ACCEPTANCE = "ACCEPTANCE", "to try tasks"


class Batch(models.Model):
    """Rollouts that were asked for together: one agent at some tasks, several times each."""

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="batches")
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="batches")
    package = models.ForeignKey(Package, on_delete=models.PROTECT, related_name="batches")
    purpose = models.CharField(max_length=10, choices=BatchPurpose.choices, default=BatchPurpose.ASKED)
    agent_kind = models.CharField(max_length=10, choices=RolloutAgent.choices)
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="batches")
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, null=True, related_name="batches")
    agent_config = models.JSONField(default=dict, help_text="vision, temperature, prompt.")
    task_filter = models.JSONField(default=dict, help_text="How its tasks were chosen, for people.")
    attempts = models.PositiveSmallIntegerField(help_text="Attempts at each task.")
    limits = models.JSONField(default=dict, help_text="Limits that are tighter than those of the tasks.")
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    hidden_at = models.DateTimeField(null=True, editable=False, help_text="When its owner took it out of the lists.")

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "batches"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(attempts__gte=1)
                & models.Q(purpose__in=BatchPurpose.values)
                & (
                    models.Q(agent_kind="SUBMISSION", submission__isnull=False)
                    | models.Q(agent_kind="MODEL", submission=None, model__isnull=False)
                    | models.Q(agent_kind__in=["SCRIPTED", "NULL"], submission=None, model=None)
                ),
                name="batch_is_whole",
            )
        ]
        indexes = [models.Index(fields=["environment", "-id"], name="batch_of_environment")]

    def __str__(self) -> str:
        return f"batch {self.pk}"

    @property
    def agent_name(self) -> str:
        """Who works, for people."""
        if self.submission is not None:
            return f"{self.submission} with {self.model}" if self.model is not None else str(self.submission)
        return str(self.model) if self.model is not None else self.get_agent_kind_display()
