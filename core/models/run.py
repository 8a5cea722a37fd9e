"""Duels and evaluations that programs ask for through the executor."""

from __future__ import annotations

from django.db import models

from core.models.user import User

KEY_CHARACTERS = 200
"""The longest key of a run, and the longest name that a caller gives a player."""


class Run(models.Model):
    """An unrated duel that a program asks for, or an evaluation that counts for nothing; it has their state and result.

    An evaluation has one player, and its second name is empty.
    """

    caller = models.ForeignKey(User, on_delete=models.CASCADE, related_name="runs")
    key = models.CharField(
        max_length=KEY_CHARACTERS, help_text="The caller's id for it: asked for twice, it is played once."
    )
    content_sha256 = models.CharField(max_length=64, editable=False, help_text="Hash of the request.")
    player_1_name = models.CharField(max_length=KEY_CHARACTERS, help_text="The caller's id for player 1.")
    player_2_name = models.CharField(max_length=KEY_CHARACTERS, blank=True)
    player_words = models.JSONField(
        default=list, editable=False, help_text="The caller's version and metadata of each player, for the result."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(help_text="When its time is over: what is not played by then is cancelled.")

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["caller", "key"], name="run_key_unique"),
            models.CheckConstraint(condition=~models.Q(key=""), name="run_has_key"),
            models.CheckConstraint(
                condition=~models.Q(player_1_name=models.F("player_2_name")), name="run_player_names_differ"
            ),
        ]
        indexes = [
            models.Index(fields=["caller", "-id"], name="run_of_caller"),
            models.Index(fields=["expires_at"], name="run_expires"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def names(self) -> tuple[str, ...]:
        """The caller's ids for the players."""
        return (self.player_1_name, self.player_2_name) if self.player_2_name else (self.player_1_name,)
