"""Quotas on rows that can override those of the settings."""

from __future__ import annotations

from django.db import models


class QuotaName(models.TextChoices):
    """The quotas of a person, each counted in every environment."""

    UPLOADS_PER_DAY = "uploads_per_day", "uploads a day"
    ACTIVE_AGENTS = "active_agents", "agents"
    STORAGE_BYTES = "storage_bytes", "storage"
    CONCURRENT_JOBS = "concurrent_jobs", "versions in progress"
    UPLOAD_BYTES = "upload_bytes", "size of an upload"
    CHALLENGES_PER_DAY = "challenges_per_day", "duels of challenges a day"
    SITTINGS_PER_DAY = "sittings_per_day", "sittings a day"
    ROLLOUTS_PER_DAY = "rollouts_per_day", "rollouts a day"
    CONCURRENT_ROLLOUTS = "concurrent_rollouts", "rollouts at once"
    ROLLOUT_COST_PER_DAY = "rollout_cost_per_day", "cost of rollouts a day"


def _number(what: str) -> models.PositiveBigIntegerField[int | None, int | None]:
    return models.PositiveBigIntegerField(null=True, blank=True, help_text=f"{what} Empty: not set here. 0: no limit.")


class QuotaNumbers(models.Model):
    """One column per quota. An empty one defers to the next level: person, then environment, then settings."""

    quota_uploads_per_day = _number("Uploads of one person in an environment, per day in UTC.")
    quota_active_agents = _number("Agents of one person in an environment that have a version.")
    quota_storage_bytes = _number("All archives of one person in an environment together.")
    quota_concurrent_jobs = _number("Versions of one person that are built, validated or evaluated at once.")
    quota_upload_bytes = _number("Size of one archive; never above upload_bytes in QUOTAS.")
    quota_challenges_per_day = _number("Challenge duels of one person in an environment, per day in UTC.")
    quota_sittings_per_day = _number("Sittings of one person or visitor in an environment, per day in UTC.")
    quota_rollouts_per_day = _number("Rollouts of one person in an application, per day in UTC.")
    quota_concurrent_rollouts = _number("Rollouts of one person in an application that wait or run at once.")
    quota_rollout_cost_per_day = _number("Cost of one person's rollouts, in millionths of the unit of prices, per day.")

    class Meta:
        abstract = True

    def quota_number(self, name: QuotaName) -> int | None:
        """Return the number set here; None defers to the next level."""
        number: int | None = getattr(self, f"quota_{name.value}")
        return number


QUOTA_FIELDS = tuple(f"quota_{name.value}" for name in QuotaName)
