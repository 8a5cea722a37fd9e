"""Recurring tournaments."""

from __future__ import annotations

from django.db import models

from core.models.environment import Environment
from core.models.tournament import Audience
from core.models.user import User
from core.models.zoned import Zoned


class TournamentSchedule(Zoned):
    """A recurring tournament: its properties and its times."""

    name = models.CharField(max_length=80, unique=True, help_text="Its name on the command line.")
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="schedules")
    cron = models.CharField(
        max_length=100,
        help_text="When a tournament is planned: minute, hour, day of the month, month and day of the week. "
        "“0 18 * * 5” is every Friday at 18:00.",
    )
    title = models.CharField(
        max_length=80,
        default="{schedule}, {date}",
        help_text="Name of each tournament; {schedule} and {date} are filled in.",
    )
    format = models.SlugField(max_length=30, default="round-robin")
    settings = models.JSONField(default=dict, blank=True, help_text="Settings of the format, as plain values.")
    registration_hours = models.PositiveIntegerField(
        default=0,
        help_text="Length of the registration, which starts at the time above; the tournament begins at its end. "
        "0: it begins at once, with every agent that may play.",
    )
    freeze_hours = models.PositiveIntegerField(
        default=0, help_text="Versions uploaded less than this many hours before the beginning do not take part."
    )
    teams = models.JSONField(default=list, blank=True, help_text="Names of teams that may take part; empty for all.")
    max_participants = models.PositiveIntegerField(null=True, blank=True, help_text="Empty for no limit.")
    is_rated = models.BooleanField(default=True, help_text="Whether its duels count for ratings.")
    results = models.CharField(max_length=12, choices=Audience.choices, default=Audience.PUBLIC)
    in_season = models.BooleanField(
        default=False, help_text="Each tournament belongs to the environment's season at its beginning."
    )
    is_active = models.BooleanField(default=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    handled_until = models.DateTimeField(editable=False, help_text="Its times up to this one have been handled.")
    last_note = models.CharField(
        max_length=300, blank=True, editable=False, help_text="The outcome of its last time, as a sentence."
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(max_participants=None) | models.Q(max_participants__gte=2),
                name="schedule_has_room",
            ),
        ]

    def __str__(self) -> str:
        return self.name
