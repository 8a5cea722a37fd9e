"""Play from a position of a recorded match."""

from __future__ import annotations

from django.db import models


class Branch(models.Model):
    """The plies of a match that others begin with. Their matches have the seed of that match, so chance is the same."""

    opening = models.JSONField(
        null=True, blank=True, editable=False, help_text="The actions that its matches begin with; null without origin."
    )
    origin = models.ForeignKey(
        "core.Duel",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="The duel with the match that it goes on from.",
    )
    origin_match = models.PositiveIntegerField(null=True, editable=False, help_text="The number of that match.")
    origin_ply = models.PositiveIntegerField(null=True, editable=False, help_text="The state of it, from 0.")

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=models.Q(opening=None, origin=None, origin_match=None, origin_ply=None)
                | models.Q(opening__isnull=False, origin_match__isnull=False, origin_ply__isnull=False),
                name="%(class)s_branch_is_whole",
            )
        ]
