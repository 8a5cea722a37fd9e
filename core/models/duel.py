from __future__ import annotations

from django.db import models

from core.models.agent import Submission
from core.models.branch import Branch
from core.models.challenge import Challenge
from core.models.environment import Environment
from core.models.job import PlayedJob, job_indexes
from core.models.limits import finite, positive
from core.models.promotion import Promotion
from core.models.run import Run
from core.models.tournament import Tournament
from core.models.verdict import Checkable


class DuelOutcome(models.TextChoices):
    """Who won a duel."""

    NONE = "", "undecided"
    PLAYER_1 = "PLAYER_1", "player 1 won"
    PLAYER_2 = "PLAYER_2", "player 2 won"
    DRAW = "DRAW", "draw"


class Duel(PlayedJob, Checkable, Branch):
    """N matches between two submissions. A duel that FAILED by a platform fault is void and does not count.

    It belongs to a tournament, a promotion, a challenge or a run; only duels of tournaments are in the ledger.
    """

    KIND = "duel"
    OWNER = "player_1__agent__owner"
    """In promotions and challenges, the agent that asked for the duel is player_1."""
    ENVIRONMENT = "player_1__agent__environment"
    LINES = ("is_heavy",)
    RELATED = ("tournament", "player_1__agent__environment", "player_2__agent__environment")

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, null=True, blank=True, related_name="duels")
    promotion = models.ForeignKey(Promotion, on_delete=models.CASCADE, null=True, blank=True, related_name="duels")
    challenge = models.ForeignKey(Challenge, on_delete=models.CASCADE, null=True, blank=True, related_name="duels")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, null=True, blank=True, related_name="duel")
    is_heavy = models.BooleanField(
        default=False, editable=False, help_text="Whether its environment was heavy when it was put in line."
    )
    number = models.PositiveIntegerField(help_text="Order in the schedule, from 1.")
    round = models.PositiveIntegerField(help_text="Round of the schedule, from 1.")
    # No separate indexes: the indexes below begin with these columns.
    player_1 = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="duels_as_player_1", db_index=False)
    player_2 = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="duels_as_player_2", db_index=False)
    outcome = models.CharField(max_length=8, choices=DuelOutcome.choices, blank=True, editable=False)
    player_1_wins = models.PositiveIntegerField(default=0, editable=False)
    player_2_wins = models.PositiveIntegerField(default=0, editable=False)
    player_1_errors = models.PositiveIntegerField(default=0, editable=False, help_text="Matches that it forfeited.")
    player_2_errors = models.PositiveIntegerField(default=0, editable=False)
    draws = models.PositiveIntegerField(default=0, editable=False)
    player_1_score = models.FloatField(default=0.0, editable=False)
    player_2_score = models.FloatField(default=0.0, editable=False)
    distinct_matches = models.PositiveIntegerField(
        null=True, editable=False, help_text="Matches that do not merely repeat others; empty where not counted."
    )
    expected = models.FloatField(
        null=True, editable=False, help_text="Share of the points predicted for player 1 at the start, 0 to 1."
    )
    reason = models.CharField(max_length=200, blank=True, editable=False, help_text="A sentence why the two meet.")
    test = models.JSONField(null=True, editable=False, help_text="The sequential test that may end it early.")
    test_result = models.JSONField(null=True, editable=False, help_text="The result of that test.")

    class Meta(PlayedJob.Meta):
        ordering = ["tournament", "number"]
        indexes = [
            *job_indexes("is_heavy"),
            models.Index(fields=["tournament", "round"], name="duel_of_round"),
            # For the latest results of a tournament, e.g. on the page of a ladder.
            models.Index(
                fields=["tournament", "-ended_at"], condition=models.Q(state="SUCCEEDED"), name="duel_played_last"
            ),
            # For the duels worth a look, which need their records: most old duels have none.
            models.Index(
                fields=["-id"], condition=models.Q(state="SUCCEEDED") & ~models.Q(records=""), name="duel_recorded"
            ),
            # For the latest duels of a player.
            models.Index(fields=["player_1", "-id"], name="duel_of_player_1"),
            models.Index(fields=["player_2", "-id"], name="duel_of_player_2"),
        ]
        constraints = [
            *PlayedJob.Meta.constraints,
            *Checkable.Meta.constraints,
            *Branch.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(opening=None) | models.Q(challenge__isnull=False), name="duel_branch_is_unrated"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    state="SUCCEEDED",
                    outcome__in=["PLAYER_1", "PLAYER_2", "DRAW"],
                    matches_done=models.F("player_1_wins")
                    + models.F("player_2_wins")
                    + models.F("player_1_errors")
                    + models.F("player_2_errors")
                    + models.F("draws"),
                )
                | models.Q(~models.Q(state="SUCCEEDED"), outcome=""),
                name="duel_result_is_whole",
            ),
            models.CheckConstraint(
                condition=positive("number", "round", "match_count")
                & models.Q(matches_done__lte=models.F("match_count"))
                & finite("player_1_score", "player_2_score"),
                name="duel_numbers_in_range",
            ),
            models.UniqueConstraint(fields=["tournament", "number"], name="duel_number_unique"),
            models.UniqueConstraint(fields=["promotion", "number"], name="duel_number_in_promotion"),
            models.UniqueConstraint(fields=["challenge", "number"], name="duel_number_in_challenge"),
            models.CheckConstraint(
                condition=models.Q(tournament__isnull=False, promotion=None, challenge=None, run=None)
                | models.Q(tournament=None, promotion__isnull=False, challenge=None, run=None)
                | models.Q(tournament=None, promotion=None, challenge__isnull=False, run=None)
                | models.Q(tournament=None, promotion=None, challenge=None, run__isnull=False),
                name="duel_belongs_once",
            ),
            models.CheckConstraint(
                condition=models.Q(expected=None) | models.Q(expected__gte=0, expected__lte=1),
                name="duel_expected_is_share",
            ),
            models.CheckConstraint(condition=~models.Q(player_1=models.F("player_2")), name="duel_players_differ"),
        ]

    def __str__(self) -> str:
        return f"{self.player_1} against {self.player_2}"

    @property
    def its_tournament(self) -> Tournament:
        """The tournament of a duel that must have one."""
        assert self.tournament is not None
        return self.tournament

    @property
    def environment(self) -> Environment:
        """The environment in which it is played."""
        return self.player_1.agent.environment

    @property
    def is_void(self) -> bool:
        """Return whether it was struck from the ledger or could not be played (prefetch `void` for lists)."""
        return self.state in ("FAILED", "CANCELLED") or hasattr(self, "void")
