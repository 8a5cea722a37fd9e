"""Tournaments, their participants and their standings."""

from __future__ import annotations

import uuid

from django.contrib.humanize.templatetags.humanize import ordinal
from django.db import models
from django.utils import timezone

from arena_kit.environment.spec import BARE
from arena_kit.ranking.formats import FORMATS, ByScore
from core.models.agent import Agent, Submission
from core.models.course import Course
from core.models.environment import Environment
from core.models.limits import finite
from core.models.season import Season
from core.models.user import User
from core.models.zoned import Zoned

WINDOW = ("registration_opens_at", "registration_closes_at", "freezes_at", "starts_at")
"""The times of a planned tournament, each of which changes what may be done."""


class TournamentState(models.TextChoices):
    PLANNED = "PLANNED", "planned"
    RUNNING = "RUNNING", "running"
    FINISHED = "FINISHED", "finished"
    CANCELLED = "CANCELLED", "cancelled"


LADDER = "ladder"
"""The format of endless tournaments, whose pairs are chosen one round at a time: `core.editions.ladder`."""


CHOSEN = "chosen"
"""The format of automatic editions that play a chosen part of all pairs: `core.editions.chosen`."""


class Eligibility(models.TextChoices):
    """Who may register."""

    EVERYBODY = "EVERYBODY", "everyone"
    TEAMS = "TEAMS", "members of certain teams"
    INVITED = "INVITED", "invited people"


class Audience(models.TextChoices):
    """Who sees results."""

    PUBLIC = "PUBLIC", "everyone"
    PARTICIPANTS = "PARTICIPANTS", "participants"
    HIDDEN = "HIDDEN", "organisers"


class Seeding(models.TextChoices):
    """How the participants are put in order before a tournament begins."""

    RATING = "RATING", "rating"
    BY_HAND = "BY_HAND", "organisers"
    DRAWN = "DRAWN", "lot"


PICTURES = "tournament-pictures"
"""The folder of the file store that holds pictures of tournaments."""


def picture_name(tournament: Tournament | None, filename: str) -> str:
    """Return a storage name for a picture, which is never used again. filename: its size, such as 60x30."""
    return f"{PICTURES}/{uuid.uuid4()}-{filename}.webp"


class Tournament(Zoned):
    """Duels among participants; its edition counts from 1 per environment.

    The arena creates automatic ones, one at a time per environment; organisers plan all others.
    """

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="tournaments")
    edition = models.PositiveIntegerField()
    name = models.CharField(max_length=100, blank=True, help_text="Empty for automatic editions.")
    about = models.TextField(
        blank=True, db_default="", max_length=5000, help_text="Rules, prizes, contact: Markdown, shown on its page."
    )
    picture = models.FileField(
        upload_to=picture_name, max_length=200, blank=True, default="", db_default="", editable=False
    )
    picture_alt = models.CharField(
        max_length=200, blank=True, default="", db_default="", editable=False, help_text="Its picture in words."
    )
    state = models.CharField(max_length=10, choices=TournamentState.choices, default=TournamentState.RUNNING)
    format = models.SlugField(
        max_length=30, default="round-robin", help_text="arena_kit.ranking.formats, ladder or chosen."
    )
    settings = models.JSONField(default=dict, blank=True, help_text="Settings of the format, as plain values.")
    seed = models.PositiveBigIntegerField(default=0, help_text="All seeds of its duels follow from it.")
    seeded_by = models.CharField(
        max_length=7,
        choices=Seeding.choices,
        default=Seeding.RATING,
        db_default=Seeding.RATING,
        help_text="How participants are put in order.",
    )
    is_automatic = models.BooleanField(default=True, help_text="Created by the arena, not by an organiser.")
    is_rated = models.BooleanField(default=True, help_text="Whether its duels count for ratings.")
    has_openings = models.BooleanField(
        default=True, db_default=True, help_text="Otherwise every match begins at the start position of the game."
    )
    results = models.CharField(
        max_length=12,
        choices=Audience.choices,
        default=Audience.PUBLIC,
        help_text="Who sees results. They count for ratings as soon as everyone may see them.",
    )
    revealed_to_all = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="Everyone sees rounds up to this one while results are withheld.",
    )
    revealed_to_participants = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    course = models.ForeignKey(
        Course,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="tournaments",
        help_text="Only people who see the course see it. Its duels may still count for ratings.",
    )
    season = models.ForeignKey(Season, on_delete=models.SET_NULL, null=True, blank=True, related_name="tournaments")
    registration_opens_at = models.DateTimeField(null=True, blank=True)
    registration_closes_at = models.DateTimeField(null=True, blank=True)
    registration_told_at = models.DateTimeField(
        null=True, editable=False, help_text="When owners were told that they may register."
    )
    freezes_at = models.DateTimeField(null=True, blank=True, help_text="Versions uploaded later do not take part.")
    starts_at = models.DateTimeField(null=True, blank=True, help_text="When a planned tournament begins.")
    ends_at = models.DateTimeField(null=True, blank=True, help_text="When a ladder ends; empty: never.")
    eligibility = models.CharField(max_length=9, choices=Eligibility.choices, default=Eligibility.EVERYBODY)
    teams = models.JSONField(default=list, blank=True, help_text="Names of teams that may register.")
    invited = models.ManyToManyField(User, blank=True, related_name="invitations")
    baselines = models.ManyToManyField(
        Agent, blank=True, related_name="baseline_of", help_text="Agents that play without taking a rank or a place."
    )
    max_participants = models.PositiveIntegerField(null=True, blank=True, help_text="Empty for no limit.")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    ledger_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Ledger version that last changed its table other than by a result."
    )
    table_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Ledger version of its table; if lower, the table is out of date."
    )
    shortfall = models.CharField(
        max_length=200, blank=True, editable=False, help_text="Why no new duels are made now, as a sentence."
    )
    schedule = models.ForeignKey(
        "core.TournamentSchedule", on_delete=models.SET_NULL, null=True, blank=True, related_name="tournaments"
    )
    due_at = models.DateTimeField(null=True, blank=True, help_text="The time of its schedule that it is for.")
    cancel_reason = models.CharField(max_length=200, blank=True, help_text="Why it was cancelled, shown on its page.")
    paused_at = models.DateTimeField(null=True, editable=False, help_text="Since when no duel of it begins.")
    started_at = models.DateTimeField(default=timezone.now, null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["environment", "-edition"]
        indexes = [
            models.Index(
                fields=["environment"],
                condition=models.Q(ledger_version__gt=models.F("table_version")),
                name="tournament_outdated",
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["environment", "edition"], name="tournament_edition_unique"),
            models.UniqueConstraint(
                fields=["environment"],
                condition=models.Q(state="RUNNING", is_automatic=True),
                name="tournament_one_running",
            ),
            # A second worker that plans a tournament for the same time of a schedule is refused.
            models.UniqueConstraint(fields=["schedule", "due_at"], name="tournament_scheduled_once"),
            models.CheckConstraint(
                condition=models.Q(edition__gte=1, state="PLANNED", started_at=None, ended_at=None, is_automatic=False)
                | models.Q(edition__gte=1, state="RUNNING", started_at__isnull=False, ended_at=None)
                | models.Q(edition__gte=1, state="FINISHED", started_at__isnull=False, ended_at__isnull=False)
                # A planned tournament may be cancelled.
                | models.Q(edition__gte=1, state="CANCELLED", ended_at__isnull=False),
                name="tournament_state_is_whole",
            ),
            # A window without a start or an end passes, because comparisons with NULL are not false.
            models.CheckConstraint(
                condition=(
                    models.Q(registration_closes_at=None)
                    | models.Q(registration_opens_at=None)
                    | models.Q(registration_closes_at__gt=models.F("registration_opens_at"))
                )
                & (
                    models.Q(starts_at=None)
                    | models.Q(registration_closes_at=None)
                    | models.Q(starts_at__gte=models.F("registration_closes_at"))
                )
                & (models.Q(starts_at=None) | models.Q(ends_at=None) | models.Q(ends_at__gt=models.F("starts_at")))
                & (models.Q(max_participants=None) | models.Q(max_participants__gte=2)),
                name="tournament_windows_in_order",
            ),
        ]

    def __str__(self) -> str:
        if self.name:
            return f"{self.environment}: {self.name}"
        return f"{self.environment} {'ladder, ' if self.is_ladder else ''}edition {self.edition}"

    @property
    def rules_id(self) -> str:
        """Id of the spec for its duels: that of today's rules, without openings if it leaves them out."""
        return self.environment.spec_id + ("" if self.has_openings else BARE)

    @property
    def is_ladder(self) -> bool:
        """Return whether it is a ladder: participants come and go and are ranked by their ratings."""
        return self.format == LADDER

    @property
    def is_ranked_by_rating(self) -> bool:
        """Return whether its participants play different opponents, so that ratings and not points rank them."""
        return self.format in (LADDER, CHOSEN)

    @property
    def plays_alone(self) -> bool:
        """Return whether its participants never meet: each is evaluated, and its score ranks it."""
        return self.format in FORMATS and FORMATS[self.format].plays_alone

    @property
    def title(self) -> str:
        """Its name on pages whose environment is clear."""
        return self.name or f"{'Ladder, edition' if self.is_ladder else 'Edition'} {self.edition}"

    @property
    def in_words(self) -> str:
        """Its title within a sentence or a line of links: Spring Cup, the ladder, edition 3."""
        return self.name or ("the ladder" if self.is_ladder else f"edition {self.edition}")

    @property
    def paused_because(self) -> str:
        """Why no duel of it begins now, as a sentence; empty unless organisers have paused it."""
        return f"{self} is paused." if self.paused_at is not None else ""

    @property
    def has_registration(self) -> bool:
        """Return whether owners register for it. Otherwise every agent that may play takes part."""
        return self.registration_opens_at is not None

    @property
    def draw_seed(self) -> int | None:
        """The seed from which the seeds of its participants were drawn, published when it begins; else None."""
        return self.seed if self.seeded_by == Seeding.DRAWN and self.started_at is not None else None

    @property
    def counts_for_ratings(self) -> bool:
        """Return whether its duels count for ratings; ratings would reveal results that are withheld."""
        return self.is_rated and self.results == Audience.PUBLIC


class Registration(models.Model):
    """An agent's entry for a planned tournament."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="registrations")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="registrations")
    seed = models.PositiveIntegerField(
        null=True, editable=False, help_text="Its seed if organisers decide about the seeds."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["tournament", "agent"], name="registration_unique")]

    def __str__(self) -> str:
        return f"{self.agent} for {self.tournament}"


def ranked(path: str = "") -> models.Q:
    """Return the condition of participants with a rank. path: that leads to them.

    They have not withdrawn, are no baselines, and have a score where agents play alone.
    """
    is_scored = models.Q(**{f"{path}score__isnull": False})
    meets = ~models.Q(**{f"{path}tournament__format": ByScore.slug})
    return models.Q(**{f"{path}withdrawn_at": None, f"{path}is_baseline": False}) & (is_scored | meets)


class Participant(models.Model):
    """A submission's place in a tournament. The figures are derived from the ledger and can be recomputed."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="participants")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="participations")
    wins = models.PositiveIntegerField(default=0, help_text="Duels won.")
    draws = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0)
    points = models.PositiveIntegerField(default=0, help_text="2 for each duel won, 1 for each draw.")
    total_score = models.FloatField(default=0.0, help_text="Sum of the scores of its matches.")
    score = models.FloatField(null=True, editable=False, help_text="Mean score of one that played alone.")
    score_low = models.FloatField(null=True, editable=False, help_text="Lower end of the mean's 95% interval.")
    score_high = models.FloatField(null=True, editable=False)
    rank = models.PositiveIntegerField(default=1, help_text="Ties share: 1, 1, 3.")
    seeding = models.PositiveIntegerField(null=True, blank=True, help_text="Place in the seeding, from 1.")
    is_baseline = models.BooleanField(
        default=False, db_default=False, help_text="It plays, but takes no rank, and no rank depends on its duels."
    )
    joined_after = models.PositiveIntegerField(
        null=True, editable=False, help_text="Last round drawn before it joined a ladder; 0 for none."
    )
    left_after = models.PositiveIntegerField(
        null=True, editable=False, help_text="Last round drawn before it was taken out; 0 for none."
    )
    withdrawn_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When it was taken out of a running edition: its duels no longer count for standings. In a ladder "
        "they do count, and it may join again.",
    )
    disqualified_because = models.CharField(
        max_length=200, blank=True, editable=False, db_default="", help_text="Empty unless organisers disqualified it."
    )
    rating = models.FloatField(null=True, blank=True, help_text="Rating at the end of the edition.")
    rating_low = models.FloatField(null=True, blank=True, help_text="Lower end of its 95% interval at that time.")
    rating_high = models.FloatField(null=True, blank=True, help_text="Upper end of its 95% interval at that time.")

    class Meta:
        ordering = ["rank", "submission__agent__name"]
        indexes = [
            models.Index(fields=["tournament", "rank", "id"], name="participant_ranked"),
            models.Index(
                fields=["tournament"], condition=models.Q(withdrawn_at__isnull=False), name="participant_withdrawn"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["tournament", "submission"], name="participant_unique"),
            models.CheckConstraint(
                condition=models.Q(rank__gte=1, points=2 * models.F("wins") + models.F("draws"))
                & finite("total_score", "rating"),
                name="participant_adds_up",
            ),
            # Editions that ended before intervals were introduced have only a rating.
            models.CheckConstraint(
                condition=models.Q(rating_low=None, rating_high=None)
                | models.Q(
                    rating__isnull=False,
                    rating_low__isnull=False,
                    rating_high__isnull=False,
                    rating__gte=models.F("rating_low"),
                    rating__lte=models.F("rating_high"),
                )
                & finite("rating_low", "rating_high"),
                name="participant_rating_in_interval",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission} in {self.tournament}"

    def came(self, size: int) -> str:
        """Return its place in words, where it has not left. size: the number of participants with a rank."""
        return f"came {ordinal(self.rank)} of {size}" if self.is_ranked else "has no score"

    @property
    def is_ranked(self) -> bool:
        """Return whether it has a rank, see `ranked`."""
        is_scored = self.score is not None or not self.tournament.plays_alone
        return self.withdrawn_at is None and not self.is_baseline and is_scored

    @property
    def shown_rank(self) -> int | None:
        """Its rank, if it has one."""
        return self.rank if self.is_ranked else None

    @property
    def has_played(self) -> bool:
        """Return whether a duel or a score of it counts; before that, all participants share rank 1."""
        return bool(self.wins or self.draws or self.losses) or self.score is not None
