"""The lifecycle that every kind of background work shares."""

from __future__ import annotations

import uuid

from django.db import models

from core.tracing import TRACEPARENT_CHARACTERS, traceparent


class JobState(models.TextChoices):
    """The state of a job. `core.jobs.states.TRANSITIONS` has the allowed transitions."""

    QUEUED = "QUEUED", "waiting"
    RUNNING = "RUNNING", "running"
    SUCCEEDED = "SUCCEEDED", "succeeded"
    FAILED = "FAILED", "failed"
    CANCELLED = "CANCELLED", "cancelled"


class JobFault(models.TextChoices):
    """Who is to blame for a failure."""

    NONE = "NONE", "none"
    PLAYER = "PLAYER", "player"
    PLATFORM = "PLATFORM", "platform"


PRIORITIES = 10
"""The highest priority of a job; the lowest is its negative."""


class CancelCode(models.TextChoices):
    """Why a job was cancelled, for code; the sentence in `error` is for people."""

    BY_OWNER = "by_owner", "by its owner"
    BY_ORGANISER = "by_organiser", "by an organiser"
    OWNER_BANNED = "owner_banned", "its owner's account was closed"
    AGENT_DISABLED = "agent_disabled", "its agent was disabled"
    QUARANTINED = "quarantined", "a player was paused for crashing"
    PLAYER_BARRED = "player_barred", "a player may no longer take part"
    PLAYER_LEFT = "player_left", "a player left the tournament"
    SUBMISSION_DELETED = "submission_deleted", "its submission was deleted"
    SUPERSEDED = "superseded", "newer work takes its place"
    RESULT_STRUCK = "result_struck", "a result that it depended on was struck"
    TIME_OVER = "time_over", "the time that its caller gave it was over"
    TEST_OVER = "test_over", "the test of a version is over"
    TOURNAMENT_OVER = "tournament_over", "its tournament is over"
    NOT_PUBLIC = "not_public", "there is nothing to publish"
    ENVIRONMENT_RETIRED = "environment_retired", "its environment is no longer part of the arena"


def job_indexes(*lines: str) -> list[models.Index]:
    """Return the indexes of a kind of job. lines: its LINES."""
    return [
        models.Index(
            fields=["state", "lease_expires_at"],
            condition=models.Q(state__in=["QUEUED", "RUNNING"]),
            name="%(class)s_open",
        ),
        models.Index(
            fields=[*lines, "sort_key", "id"],
            condition=models.Q(state="QUEUED", not_before__isnull=True),
            name="%(class)s_in_line",
        ),
        models.Index(fields=[*lines, "-begun_turn"], condition=models.Q(begun_turn__gt=1), name="%(class)s_begun_turn"),
        models.Index(fields=["flow", "-turn"], name="%(class)s_flow"),
        # SQLite uses a partial index only if the query repeats its exact condition.
        models.Index(fields=["id"], condition=models.Q(state="QUEUED"), name="%(class)s_waiting"),
        models.Index(fields=["lease_expires_at"], condition=models.Q(state="RUNNING"), name="%(class)s_running"),
        models.Index(fields=["created_at", "id"], name="%(class)s_created"),
        # For the job finished last, which the watchdog reads twice a minute.
        models.Index(fields=["state", "-ended_at"], name="%(class)s_ended"),
    ]


class Job(models.Model):
    """One unit of background work. Only `core.jobs.states.transition` changes its state."""

    KIND: str = ""
    RELATED: tuple[str, ...] = ()
    """Related rows that its worker reads with it."""
    OWNER: str = ""
    """The lookup path to the user who waits for it."""
    ENVIRONMENT: str = ""
    """The lookup path to its environment."""
    WAITS_SINCE = "created_at"
    """The field with the time since when a waiting job has waited for a worker, at the latest."""
    LINES: tuple[str, ...] = ()
    """Fields that divide the jobs of this kind into separate lines."""
    running_since: float | None = None
    """Monotonic seconds when this process claimed it; None when another did. Not stored; only for metrics."""

    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED, editable=False)
    attempt = models.PositiveSmallIntegerField(default=0, editable=False, help_text="Number of claims so far.")
    claim_token = models.UUIDField(null=True, editable=False, help_text="Token of the worker that runs it.")
    lease_expires_at = models.DateTimeField(null=True, editable=False)
    worker = models.CharField(max_length=100, blank=True, editable=False)
    fault = models.CharField(max_length=8, choices=JobFault.choices, default=JobFault.NONE, editable=False)
    error_code = models.CharField(max_length=50, blank=True, editable=False)
    error = models.TextField(blank=True, editable=False, help_text="A sentence for a person.")
    public_error = models.TextField(
        blank=True, editable=False, help_text="The part of the error that strangers may read: the arena's own words."
    )
    cancel_code = models.CharField(max_length=20, choices=CancelCode.choices, blank=True, editable=False)
    log = models.TextField(blank=True, editable=False)
    history = models.JSONField(
        default=list, editable=False, help_text="Failed attempts; see core.jobs.selectors.attempts_of."
    )
    flow = models.CharField(
        max_length=40,
        blank=True,
        editable=False,
        help_text="The owner, promotions or tournament whose jobs share turns with it.",
    )
    turn = models.PositiveBigIntegerField(default=0, editable=False, help_text="Its round within its line.")
    begun_turn = models.BigIntegerField(
        null=True, editable=False, help_text="Its turn less its priority's turns, once a worker has begun it."
    )
    sort_key = models.BigIntegerField(
        default=0, editable=False, help_text="Jobs are taken by (sort_key, id): turn, priority and round combined."
    )
    priority = models.SmallIntegerField(
        default=0, editable=False, help_text="From -10 (later) to 10 (earlier), set by organisers."
    )
    trace_context = models.CharField(
        max_length=TRACEPARENT_CHARACTERS,
        blank=True,
        default=traceparent,
        editable=False,
        help_text="The span in which it was made, as a W3C traceparent; empty without tracing.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    not_before = models.DateTimeField(null=True, editable=False, help_text="It is delayed until then.")
    started_at = models.DateTimeField(null=True, editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=JobState.values), name="%(class)s_state_known"),
            models.CheckConstraint(
                condition=models.Q(state="QUEUED", claim_token=None, lease_expires_at=None, ended_at=None)
                | models.Q(models.Q(started_at__isnull=False), ~models.Q(worker=""), state="RUNNING", ended_at=None)
                | models.Q(state="SUCCEEDED", lease_expires_at=None, ended_at__isnull=False, fault="NONE")
                | models.Q(
                    state="FAILED", lease_expires_at=None, ended_at__isnull=False, fault__in=["PLAYER", "PLATFORM"]
                )
                | models.Q(state="CANCELLED", lease_expires_at=None, ended_at__isnull=False),
                name="%(class)s_state_is_whole",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="RUNNING")
                | models.Q(claim_token__isnull=False, lease_expires_at__isnull=False),
                name="%(class)s_running_is_claimed",
            ),
            models.CheckConstraint(
                condition=models.Q(priority__gte=-PRIORITIES, priority__lte=PRIORITIES),
                name="%(class)s_priority_in_range",
            ),
            models.CheckConstraint(
                condition=models.Q(state="CANCELLED", cancel_code__in=CancelCode.values)
                | models.Q(~models.Q(state="CANCELLED"), cancel_code=""),
                name="%(class)s_cancelled_has_code",
            ),
        ]
        indexes = job_indexes()

    @property
    def is_over(self) -> bool:
        """Return whether the state is final."""
        return self.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


def artifact_name(job: Job, filename: str) -> str:
    """Return an artifact's storage name, different for every claim, so that a late file never replaces a good one."""
    return f"{job.KIND}s/{job.pk}/{job.claim_token or uuid.uuid4()}/{filename}"


class PlayedJob(Job):
    """A job in which matches are played."""

    environment_version = models.CharField(max_length=60, help_text="Id of the spec for its matches, e.g. quarto-v1.")
    seed = models.PositiveBigIntegerField()
    match_count = models.PositiveIntegerField()
    matches_done = models.PositiveIntegerField(default=0, editable=False)
    records = models.FileField(upload_to=artifact_name, max_length=200, blank=True)
    player_1_log = models.FileField(upload_to=artifact_name, max_length=200, blank=True)
    player_2_log = models.FileField(upload_to=artifact_name, max_length=200, blank=True)
    player_1_digest = models.CharField(
        max_length=100, blank=True, editable=False, help_text="Content id of the image that played; empty for a folder."
    )
    player_2_digest = models.CharField(max_length=100, blank=True, editable=False)
    record_sha256 = models.CharField(max_length=64, blank=True, editable=False, help_text="Hash of the play.")

    class Meta(Job.Meta):
        abstract = True
