"""Seasons: spans of time whose tournaments make one table."""

from __future__ import annotations

from django.db import models

from core.models.environment import Environment
from core.models.zoned import Zoned


class Season(Zoned):
    """A named period of an environment whose tournaments are summed up in one table."""

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="seasons")
    name = models.CharField(max_length=100)
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        ordering = ["environment", "-begins_at"]
        constraints = [
            models.UniqueConstraint(fields=["environment", "name"], name="season_name_unique"),
            models.CheckConstraint(condition=models.Q(ends_at__gt=models.F("begins_at")), name="season_ends_later"),
        ]

    def __str__(self) -> str:
        return f"{self.environment}: {self.name}"
