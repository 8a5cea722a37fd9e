"""Rollouts, every verdict about them, and the worlds that workers hold."""

from __future__ import annotations

import uuid

from django.db import models

from core.models.agent import Submission
from core.models.batch import Batch
from core.models.environment import Environment
from core.models.job import Job, artifact_name, job_indexes
from core.models.package import Package
from core.models.task import Task
from core.models.user import User


class RolloutPhase(models.TextChoices):
    """How far a running rollout is."""

    WAITING = "", "waiting"
    PROVISIONING = "PROVISIONING", "provisioning"
    WORKING = "WORKING", "working"
    EXPORTING = "EXPORTING", "exporting"
    CLEANING = "CLEANING", "cleaning up"
    JUDGING = "JUDGING", "judging"
    STORING = "STORING", "storing"


class RolloutOutcome(models.TextChoices):
    """The outcome of the task, as arena_kit.rollout.judge has it."""

    NONE = "", "not over"
    SOLVED = "SOLVED", "solved"
    PARTIAL = "PARTIAL", "partly solved"
    NOT_SOLVED = "NOT_SOLVED", "not solved"
    UNJUDGED = "UNJUDGED", "not judged"


class EndedBy(models.TextChoices):
    """Why no further action was taken, as arena_kit.rollout.judge has it."""

    NONE = "", "not over"
    DONE = "done", "it answered"
    GAVE_UP = "gave_up", "it gave up"
    STEP_LIMIT = "step_limit", "its steps were used up"
    TOKEN_LIMIT = "token_limit", "its tokens were used up"  # no secret
    COST_LIMIT = "cost_limit", "its money was used up"
    TIME_LIMIT = "time_limit", "its time was over"
    AGENT_FAULT = "agent_fault", "it broke"
    CANCELLED = "cancelled", "it was cancelled"


class VerdictReason(models.TextChoices):
    """Why a rollout was judged."""

    FIRST = "FIRST", "first"
    AGAIN = "AGAIN", "again"
    TASK_CHANGED = "TASK_CHANGED", "the task was corrected"
    REPLAY = "REPLAY", "played again in a fresh world"


def _artifact(what: str) -> models.FileField:
    return models.FileField(upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text=what)


class Rollout(Job):
    """One attempt of one agent at one task in one fresh world.

    SUCCEEDED when it was carried out and judged, whatever the verdict. FAILED with fault PLAYER when the agent broke:
    the task is not solved, and the score is for information. FAILED with fault PLATFORM counts for nothing.
    """

    KIND = "rollout"
    OWNER = "batch__owner"
    ENVIRONMENT = "environment"
    RELATED = (
        "batch__model",
        "batch__owner",
        "environment",
        "task",
        "package",
        "submission__agent__environment",
        "submission__agent__owner",
    )

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="rollouts")
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="rollouts")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="rollouts")
    package = models.ForeignKey(Package, on_delete=models.PROTECT, related_name="rollouts")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, null=True, related_name="rollouts")
    is_ranked = models.BooleanField(default=False, editable=False, help_text="Whether the board counts it.")
    attempt_number = models.PositiveSmallIntegerField(help_text="From 1 within its batch and task.")
    seed = models.PositiveBigIntegerField(default=0)
    phase = models.CharField(max_length=12, choices=RolloutPhase.choices, blank=True, editable=False)
    live = models.JSONField(default=dict, editable=False, help_text="The latest steps while it runs.")
    ended_by = models.CharField(max_length=11, choices=EndedBy.choices, blank=True, editable=False)
    outcome = models.CharField(max_length=10, choices=RolloutOutcome.choices, blank=True, editable=False)
    score = models.FloatField(null=True, editable=False, help_text="From 0 to 1.")
    verdict_code = models.CharField(max_length=50, blank=True, editable=False, help_text="Why it is not solved.")
    verdict_sentence = models.TextField(blank=True, editable=False)
    judge_version = models.PositiveSmallIntegerField(null=True, editable=False)
    answer = models.JSONField(null=True, editable=False)
    has_answer = models.BooleanField(default=False, editable=False, help_text="Null may be an answer.")
    answer_status = models.CharField(max_length=30, blank=True, editable=False)
    step_count = models.PositiveIntegerField(default=0, editable=False)
    seconds = models.FloatField(default=0.0, editable=False, help_text="From the first observation to the last.")
    provision_seconds = models.FloatField(null=True, editable=False, help_text="From the claim to that observation.")
    agent_seconds = models.FloatField(default=0.0, editable=False)
    tokens_in = models.PositiveBigIntegerField(default=0, editable=False)
    tokens_out = models.PositiveBigIntegerField(default=0, editable=False)
    tokens_cached = models.PositiveBigIntegerField(default=0, editable=False)
    cost_micros = models.PositiveBigIntegerField(default=0, editable=False)
    record = _artifact("The record, JSON.")
    steps = _artifact("A line of JSON a step, gzip.")
    pages = _artifact("Snapshots and pictures.")
    video = _artifact("")
    trace = _artifact("For Playwright's viewer.")
    har = _artifact("The network log.")
    export = _artifact("The exported state.")
    changes = _artifact("How it differs from that of a fresh world, JSON.")
    world_log = _artifact("What the services have printed.")
    model_log = _artifact("The log of the gateway.")
    player_log = _artifact("What the agent has printed.")
    record_sha256 = models.CharField(max_length=64, blank=True, editable=False)
    player_digest = models.CharField(max_length=100, blank=True, editable=False, help_text="Content id of the image.")
    hidden_at = models.DateTimeField(null=True, editable=False, help_text="When its owner took it out of the lists.")
    judging_asked = models.CharField(
        max_length=12,
        choices=VerdictReason.choices,
        blank=True,
        editable=False,
        help_text="AGAIN or TASK_CHANGED while another verdict is waited for.",
    )
    judging_asked_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, editable=False, related_name="+")
    judging_error = models.TextField(blank=True, editable=False, help_text="Why the last one could not be made.")

    class Meta(Job.Meta):
        ordering = ["pk"]
        indexes = [
            *job_indexes(),
            models.Index(fields=["judging_asked"], condition=~models.Q(judging_asked=""), name="rollout_judging"),
            models.Index(fields=["batch", "task", "attempt_number"], name="rollout_of_batch"),
            models.Index(fields=["task", "-id"], name="rollout_of_task"),
            models.Index(
                fields=["environment", "submission", "task"],
                condition=models.Q(is_ranked=True),
                name="rollout_board",
            ),
        ]
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(outcome__in=RolloutOutcome.values, phase__in=RolloutPhase.values)
                & models.Q(ended_by__in=EndedBy.values, attempt_number__gte=1)
                & (models.Q(score=None) | models.Q(score__gte=0, score__lte=1)),
                name="rollout_in_range",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    ~models.Q(outcome=""), state="SUCCEEDED", score__isnull=False, judge_version__isnull=False
                )
                | models.Q(state="FAILED", fault="PLAYER", outcome="NOT_SOLVED", score__isnull=False)
                | models.Q(~models.Q(state="SUCCEEDED"), ~models.Q(state="FAILED", fault="PLAYER"), outcome=""),
                name="rollout_result_is_whole",
            ),
            models.UniqueConstraint(fields=["batch", "task", "attempt_number"], name="rollout_attempt_unique"),
        ]

    def __str__(self) -> str:
        return f"rollout {self.pk}"

    @property
    def is_solved(self) -> bool:
        """Return whether it counts as a success."""
        return self.outcome == RolloutOutcome.SOLVED

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.tokens_in + self.tokens_out


class RolloutVerdict(models.Model):
    """One verdict about a rollout. The database refuses to change or delete it; the newest one of a task counts."""

    rollout = models.ForeignKey(Rollout, on_delete=models.PROTECT, related_name="verdicts")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="+", help_text="The revision it is by.")
    reason = models.CharField(max_length=12, choices=VerdictReason.choices)
    judge_version = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=10, choices=RolloutOutcome.choices)
    fault = models.CharField(max_length=8)
    score = models.FloatField()
    code = models.CharField(max_length=50, blank=True)
    sentence = models.TextField(blank=True)
    checks = models.JSONField(default=list)
    guards = models.JSONField(default=list)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(reason__in=VerdictReason.values, score__gte=0, score__lte=1),
                name="rolloutverdict_in_range",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_outcome_display()} ({self.get_reason_display()})"


class WorldLease(models.Model):
    """A world that a worker holds, for pages and operators. The lease itself is a locked file on the worker's host."""

    token = models.CharField(max_length=64, unique=True, help_text="The label arena.world of its containers.")
    rollout = models.ForeignKey(Rollout, on_delete=models.CASCADE, related_name="worlds")
    host = models.CharField(max_length=80)
    worker = models.CharField(max_length=100)
    memory_bytes = models.PositiveBigIntegerField(help_text="Reserved: the package, the browser, the player.")
    opened_at = models.DateTimeField(auto_now_add=True)
    deadline_at = models.DateTimeField(help_text="When any reaper may remove it.")
    closed_at = models.DateTimeField(null=True, help_text="When its containers were gone.")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["host"], condition=models.Q(closed_at=None), name="worldlease_open")]

    def __str__(self) -> str:
        return self.token
