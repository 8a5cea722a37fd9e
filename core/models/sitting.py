"""People who play agents in the browser."""

from __future__ import annotations

import uuid

from django.db import models

from core.models.agent import Submission
from core.models.branch import Branch
from core.models.duel import DuelOutcome
from core.models.environment import Environment
from core.models.job import PlayedJob
from core.models.limits import finite
from core.models.user import User


class Sitting(PlayedJob, Branch):
    """One unrated match between a person, who is player 1, and a submission.

    While it is open its state follows from the seed, the opening and its moves, which are rows. It waits for a worker
    when the submission is to move, and is delayed while it waits for the person; a worker writes its record at the end.
    A worker keeps it for one move.
    """

    KIND = "sitting"
    OWNER = "user"
    ENVIRONMENT = "submission__agent__environment"
    WAITS_SINCE = "persons_turn_at"
    RELATED = ("user", "submission__agent__environment", "submission__agent__owner")

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False, help_text="Its name in addresses.")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sittings")
    """The account of anonymous submissions for a visitor without an account."""
    address_digest = models.CharField(
        max_length=32,
        blank=True,
        editable=False,
        help_text="For a visitor: a hash of their address and the day, which their quota is counted by.",
    )
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="sittings")
    persons_seat = models.PositiveSmallIntegerField(help_text="From 0.")
    persons_turn_at = models.DateTimeField(
        help_text="When the person acted last, or their turn began; a long time after it the sitting ends."
    )
    resigned_at = models.DateTimeField(null=True, editable=False)
    outcome = models.CharField(max_length=8, choices=DuelOutcome.choices, blank=True, editable=False)
    is_helped = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Whether the person took a move back or was shown a hint: then no record against people counts it.",
    )
    origin_sitting = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="The sitting that it goes on from.",
    )

    class Meta(PlayedJob.Meta):
        indexes = [
            *PlayedJob.Meta.indexes,
            models.Index(fields=["user", "-created_at"], name="sitting_of_user"),
            models.Index(fields=["submission", "-id"], name="sitting_of_submission"),
        ]
        constraints = [
            *PlayedJob.Meta.constraints,
            *Branch.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(state="SUCCEEDED", outcome__in=["PLAYER_1", "PLAYER_2", "DRAW"])
                | models.Q(~models.Q(state="SUCCEEDED"), outcome=""),
                name="sitting_result_is_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(match_count=1, persons_seat__in=[0, 1]), name="sitting_is_one_match_of_two"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.persons_name} against {self.submission}"

    @property
    def environment(self) -> Environment:
        """The environment in which it is played."""
        return self.submission.agent.environment

    @property
    def persons_name(self) -> str:
        """The person's name on pages and in the record."""
        return "A visitor" if self.user.is_system else self.user.username

    @property
    def seats(self) -> tuple[int, ...]:
        """The player (0 the person, 1 the submission) on each seat."""
        return (0, 1) if self.persons_seat == 0 else (1, 0)


class SittingMove(models.Model):
    """A move of an open sitting; the moves of a finished one are in its record."""

    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="moves")
    step = models.PositiveIntegerField(help_text="Counted from 0 after the opening.")
    seat = models.PositiveSmallIntegerField()
    action = models.PositiveIntegerField()
    seconds = models.FloatField(default=0.0, help_text="How long the submission thought.")

    class Meta:
        ordering = ["sitting", "step", "seat"]
        constraints = [
            models.UniqueConstraint(fields=["sitting", "step", "seat"], name="sitting_move_unique"),
            models.CheckConstraint(
                condition=finite("seconds") & models.Q(seconds__gte=0), name="sitting_move_took_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} by seat {self.seat} in step {self.step}"
