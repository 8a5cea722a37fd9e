"""Tasks of applications, in revisions, and the files that they came in."""

from __future__ import annotations

from django.db import models

from core.models.environment import Environment
from core.models.package import Package
from core.models.user import User


class TaskSplit(models.TextChoices):
    """The use of a task. Hidden tasks are seen by organisers and their authors only."""

    PRACTICE = "PRACTICE", "practice"
    RANKING = "RANKING", "ranking"
    HIDDEN = "HIDDEN", "hidden"


class Acceptance(models.TextChoices):
    """The result of trying a task: its oracle must solve it, and doing nothing must not."""

    UNTRIED = "", "not tried"
    ACCEPTED = "ACCEPTED", "accepted"
    REFUSED = "REFUSED", "refused"


class TaskFile(models.Model):
    """An upload of tasks: a `tasks.json` of its own, or that of a package."""

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="task_files")
    package = models.ForeignKey(
        Package, on_delete=models.PROTECT, null=True, related_name="task_files", help_text="If it came in a package."
    )
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="task_files")
    by_organiser = models.BooleanField(
        editable=False, help_text="Only tasks of organisers are on a board, and they are tested at once."
    )
    sha256 = models.CharField(max_length=64)
    report = models.JSONField(help_text="What it changed: count, created, revised, unchanged, duplicates, skipped.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"tasks of {self.environment} by {self.uploaded_by}"


class Task(models.Model):
    """One revision of a task: an instruction with its checks. A revision never changes, only what is known about it."""

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="tasks")
    key = models.CharField(max_length=100, help_text="Its id in the file.")
    member = models.ForeignKey(
        User,
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        help_text="The member who wrote it, among whose tasks its key is unique; empty for a task of the organisers.",
    )
    revision = models.PositiveIntegerField(help_text="From 1 within its key.")
    is_current = models.BooleanField(default=True, help_text="Whether no later revision is there.")
    file = models.ForeignKey(TaskFile, on_delete=models.PROTECT, related_name="tasks")
    instruction = models.TextField()
    definition = models.JSONField(help_text="Its keys as they were written, without the id.")
    content_sha256 = models.CharField(max_length=64)
    work_sha256 = models.CharField(max_length=64, help_text="Hash of what agents see and are judged by.")
    fingerprint = models.CharField(max_length=64, help_text="Equal for duplicates.")
    is_judged = models.BooleanField(help_text="Whether there is anything to judge a rollout by.")
    has_oracle = models.BooleanField()
    seed = models.PositiveBigIntegerField(default=0)
    split = models.CharField(max_length=8, choices=TaskSplit.choices, default=TaskSplit.PRACTICE)
    difficulty = models.CharField(max_length=6, blank=True)
    tag_line = models.TextField(blank=True, help_text="Its tags, each between commas, for filters.")
    acceptance = models.CharField(max_length=8, choices=Acceptance.choices, blank=True, editable=False)
    acceptance_code = models.CharField(max_length=50, blank=True, editable=False)
    acceptance_sentence = models.TextField(blank=True, editable=False)
    verified_at = models.DateTimeField(null=True, editable=False, help_text="When it was last tried.")
    archived_at = models.DateTimeField(null=True, editable=False, help_text="When it was taken out of the lists.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["environment", "key", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["environment", "key", "revision"],
                condition=models.Q(member=None),
                name="task_revision_unique",
            ),
            models.UniqueConstraint(
                fields=["environment", "key"],
                condition=models.Q(member=None, is_current=True),
                name="task_one_current",
            ),
            models.UniqueConstraint(
                fields=["environment", "member", "key", "revision"], name="task_of_member_revision_unique"
            ),
            models.UniqueConstraint(
                fields=["environment", "member", "key"],
                condition=models.Q(is_current=True),
                name="task_of_member_one_current",
            ),
            models.CheckConstraint(
                condition=models.Q(revision__gte=1, split__in=TaskSplit.values, acceptance__in=Acceptance.values)
                & ~models.Q(key=""),
                name="task_is_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(acceptance="", verified_at=None)
                | models.Q(~models.Q(acceptance=""), verified_at__isnull=False),
                name="task_acceptance_is_dated",
            ),
        ]
        indexes = [
            models.Index(fields=["environment", "fingerprint"], name="task_of_fingerprint"),
            models.Index(fields=["key"], condition=models.Q(is_current=True), name="task_of_key"),
        ]

    def __str__(self) -> str:
        return self.key if self.revision == 1 else f"{self.key}, revision {self.revision}"

    @property
    def name(self) -> str:
        """Its name in addresses and figures, where two authors may use one key: `KEY`, or a member's `KEY@USERNAME`."""
        return f"{self.key}@{self.member.username}" if self.member else self.key

    @property
    def tags(self) -> list[str]:
        """Its tags, in the order of the file."""
        return [tag for tag in self.tag_line.split(",") if tag]


class TaskSet(models.Model):
    """The tasks by which an application ranks agents, in versions that never change; the newest version is the board's.

    It holds revisions, so a later revision of a task does not rank agents until organisers choose it.
    """

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="task_sets")
    number = models.PositiveIntegerField(help_text="From 1 within the application.")
    tasks = models.ManyToManyField(Task, related_name="task_sets")
    chosen_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+", help_text="Empty for one that an upgrade made."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["environment", "number"]
        constraints = [
            models.UniqueConstraint(fields=["environment", "number"], name="task_set_number_unique"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="task_set_from_one"),
        ]

    def __str__(self) -> str:
        return f"tasks of the board of {self.environment}, version {self.number}"
