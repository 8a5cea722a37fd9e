"""Workers: processes that perform jobs, and the recurring duties of which one worker at a time takes care."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """A process that performs the jobs of one queue. It updates its row every few seconds while it lives."""

    name = models.CharField(max_length=100, unique=True, help_text="Host and process, as shown beside its jobs.")
    host = models.CharField(max_length=80)
    pid = models.PositiveIntegerField()
    queue = models.CharField(max_length=20)
    version = models.CharField(max_length=30, help_text="Version of the arena.")
    python = models.CharField(max_length=30)
    engine = models.CharField(max_length=60, blank=True, help_text="Its container engine; empty if it needs none.")
    engine_error = models.TextField(blank=True, help_text="Why its engine did not answer at the last check.")
    started_at = models.DateTimeField(help_text="By the database's clock, as all times here.")
    seen_at = models.DateTimeField(help_text="Its last heartbeat.")
    stopped_at = models.DateTimeField(null=True, help_text="When it ended in order.")
    job_kind = models.CharField(max_length=20, blank=True, help_text="Kind of its current job.")
    job_id = models.BigIntegerField(null=True)
    jobs_done = models.PositiveIntegerField(default=0, help_text="Jobs that it has finished, with any outcome.")
    faults = models.PositiveIntegerField(default=0, help_text="Platform faults on its jobs.")
    last_fault = models.TextField(blank=True)
    last_fault_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["queue", "host", "pid"]

    def __str__(self) -> str:
        return self.name


class Duty(models.Model):
    """A recurring task of all workers together: when it was last done, and by which worker."""

    name = models.CharField(max_length=30, unique=True)
    since = models.DateTimeField(help_text="It has been done without a longer gap since then.")
    done_at = models.DateTimeField()
    worker = models.CharField(max_length=100)

    class Meta:
        verbose_name_plural = "duties"

    def __str__(self) -> str:
        return self.name
