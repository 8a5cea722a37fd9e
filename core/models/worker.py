"""Who works here: processes that perform jobs, and the duties that must be done again and again."""

from __future__ import annotations

from django.db import models


class Worker(models.Model):
    """A process that performs the jobs of one queue. It writes its row every few seconds as long as it lives."""

    name = models.CharField(max_length=100, unique=True, help_text="Host and process, as beside the jobs it runs.")
    host = models.CharField(max_length=80)
    pid = models.PositiveIntegerField()
    queue = models.CharField(max_length=20)
    version = models.CharField(max_length=30, help_text="Of the arena.")
    python = models.CharField(max_length=30)
    engine = models.CharField(max_length=60, blank=True, help_text="What runs its containers; empty: it needs none.")
    engine_error = models.TextField(blank=True, help_text="Why its engine could not be reached, last time it looked.")
    started_at = models.DateTimeField(help_text="As all times here by the clock of the database.")
    seen_at = models.DateTimeField(help_text="Its last sign of life.")
    stopped_at = models.DateTimeField(null=True, help_text="When it ended in order.")
    job_kind = models.CharField(max_length=20, blank=True, help_text="Of the job that it is on.")
    job_id = models.BigIntegerField(null=True)
    jobs_done = models.PositiveIntegerField(default=0, help_text="Those that it has finished, whatever came out.")
    faults = models.PositiveIntegerField(default=0, help_text="Jobs that the platform failed on under this worker.")
    last_fault = models.TextField(blank=True)
    last_fault_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["queue", "host", "pid"]

    def __str__(self) -> str:
        return self.name


class Duty(models.Model):
    """Something that one of all workers must do again and again: when it was last done, and by whom."""

    name = models.CharField(max_length=30, unique=True)
    since = models.DateTimeField(help_text="It has been done without a longer break since then.")
    done_at = models.DateTimeField()
    worker = models.CharField(max_length=100)

    class Meta:
        verbose_name_plural = "duties"

    def __str__(self) -> str:
        return self.name


class Bell(models.Model):
    """A message that was sent and not answered yet: as long as it is young, no other of its name is sent."""

    name = models.CharField(max_length=100, primary_key=True, help_text="Task and argument, e.g. work:duel.")
    rung_at = models.DateTimeField(help_text="By the clock of the database.")

    def __str__(self) -> str:
        return self.name
