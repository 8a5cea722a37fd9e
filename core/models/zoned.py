"""Rows whose times are written in a time zone of their own."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from core.times import moment, zone_check, zone_of


class Zoned(models.Model):
    """A row with times that people plan by their own clocks."""

    time_zone = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        validators=[zone_check],
        help_text="Its times are shown in this zone to everyone, also when clocks change.",
    )

    class Meta:
        abstract = True

    @property
    def zone_name(self) -> str:
        """Return the name of its time zone, which without one of its own is that of the site."""
        return zone_of(self.time_zone).key

    def moment(self, time: datetime) -> str:
        """Return a point in time for a sentence, in its time zone."""
        return moment(time, self.time_zone)
