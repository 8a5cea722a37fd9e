"""Results that everyone can check: the verdicts of rechecks."""

from __future__ import annotations

from django.db import models


class RecheckVerdict(models.TextChoices):
    """The result of playing a record again."""

    NONE = "", "not checked yet"
    VERIFIED = "VERIFIED", "verified"
    MISMATCH = "MISMATCH", "does not verify"
    UNCHECKABLE = "UNCHECKABLE", "cannot be checked here"


class Checkable(models.Model):
    """A job whose record may be rechecked, in a sample or by hand."""

    verified_at = models.DateTimeField(null=True, editable=False, help_text="When its record was last checked.")
    verdict = models.CharField(max_length=11, choices=RecheckVerdict.choices, blank=True, editable=False)
    verification = models.TextField(blank=True, editable=False, help_text="What was checked, or what is wrong.")

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=models.Q(verdict="", verified_at=None)
                | models.Q(verdict__in=["VERIFIED", "MISMATCH", "UNCHECKABLE"], verified_at__isnull=False),
                name="%(class)s_verdict_is_dated",
            )
        ]
