"""Environments as rows; their rules are code in the folder `environments`."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models

from arena_kit.environment.spec import BARE, Limits
from core.models.course import Course
from core.models.limits import finite, positive
from core.models.quota import QuotaNumbers


class Play(models.TextChoices):
    """The play that goes on without an organiser, in environments with two or more seats."""

    EDITIONS = "EDITIONS", "an edition of all agents after every change"
    LADDER = "LADDER", "an endless ladder"
    NOTHING = "NOTHING", "nothing: only organisers' tournaments"


class EnvironmentKind(models.TextChoices):
    """The kind of an environment."""

    RULES = "RULES", "rules"
    APP = "APP", "an application"


class Environment(QuotaNumbers):
    """A game or task, synced from an `EnvironmentSpec` by `manage.py sync_environments`; or an application.

    An application has packages and tasks instead of rules, and rollouts instead of evaluations (core.rollouts).
    """

    slug = models.SlugField(max_length=50, unique=True)
    env_id = models.CharField(max_length=100, unique=True, help_text="Its name for clients of the API.")
    version = models.PositiveIntegerField(help_text="Version of the rules for new duels.")
    name = models.CharField(max_length=100)
    description = models.TextField(help_text="Markdown.")
    course = models.ForeignKey(
        Course,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="environments",
        help_text="The course that it belongs to: only people who see the course see it, its agents and their results.",
    )
    image = models.CharField(max_length=100, help_text="Static path of the picture.")
    seats = models.PositiveSmallIntegerField()
    kind = models.CharField(
        max_length=5, choices=EnvironmentKind.choices, default=EnvironmentKind.RULES, editable=False
    )
    is_active = models.BooleanField(
        default=True, help_text="Inactive environments accept no uploads and start no editions."
    )
    unavailable_because = models.TextField(
        blank=True,
        editable=False,
        help_text="Why its rules cannot run on this arena, for organisers; empty where they can.",
    )
    added_file = models.TextField(
        blank=True,
        editable=False,
        help_text="The file that describes it, if a submission added it; empty if a file in a folder does.",
    )
    start_asked_at = models.DateTimeField(
        null=True, editable=False, help_text="When an organiser asked for an edition that has not been started yet."
    )
    matches_per_duel = models.PositiveIntegerField(help_text="Even, because seats alternate. Unused with one seat.")
    matches_per_validation = models.PositiveIntegerField(
        validators=[MinValueValidator(1)], help_text="With one seat: practice episodes."
    )
    episodes_per_evaluation = models.PositiveIntegerField(
        default=0, help_text="Length of the next hidden list of seeds. Only for one seat."
    )
    play = models.CharField(
        max_length=8, choices=Play.choices, default=Play.EDITIONS, help_text="What agents play without an organiser."
    )
    active_per_owner = models.PositiveIntegerField(
        default=2, help_text="Maximum number of an owner's agents in a ladder or tournament. 0: no limit."
    )
    all_pairs_up_to = models.PositiveIntegerField(
        default=24,
        db_default=24,
        help_text="Up to this many agents an automatic edition plays all pairs; of more, those that say most.",
    )
    has_gate = models.BooleanField(
        default=False, help_text="A new version plays only after a test has shown that it is better."
    )
    stops_early = models.BooleanField(
        default=False, help_text="Duels of automatic tournaments end as soon as a test decides them."
    )
    test_elo0 = models.FloatField(default=0.0, help_text="Lower bound of the test, in normalised Elo.")
    test_elo1 = models.FloatField(default=50.0, help_text="Upper bound of the test, in normalised Elo.")
    test_alpha = models.FloatField(default=0.05, help_text="Probability to accept a version at the lower bound.")
    test_beta = models.FloatField(default=0.05, help_text="Probability to miss a version at the upper bound.")
    test_cap = models.PositiveIntegerField(default=500, help_text="Pairs of matches after which it ends undecided.")
    takes_scripts = models.BooleanField(
        default=False, help_text="Whether scripts, which report their score themselves, may be submitted."
    )
    is_heavy = models.BooleanField(
        default=False,
        help_text="Whether its evaluations and duels take long: new ones stand in lines of their own and go last.",
    )
    takes_players = models.BooleanField(
        default=True, help_text="Whether players, which the arena plays and scores itself, may be submitted."
    )
    parallel_matches = models.PositiveIntegerField(default=32)
    cpu_count = models.FloatField(default=1.0)
    memory_limit_bytes = models.PositiveBigIntegerField()
    gpu_count = models.PositiveSmallIntegerField(
        default=0, help_text="Graphics cards of each player. Only Kubernetes gives them out."
    )
    move_seconds = models.FloatField(help_text="Free time for each move.")
    bank_seconds = models.FloatField(help_text="Additional time for the whole match.")
    start_seconds = models.FloatField(help_text="Time to load the player.")
    duel_seconds = models.FloatField(help_text="Time for a whole duel.")
    validation_seconds = models.FloatField(
        default=120.0, help_text="Time for a whole validation, including the start of its player."
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=positive("version", "seats", "matches_per_validation", "parallel_matches")
                & models.Q(memory_limit_bytes__gt=0, cpu_count__gt=0, start_seconds__gt=0, duel_seconds__gt=0)
                & models.Q(validation_seconds__gt=0)
                & models.Q(move_seconds__gte=0, bank_seconds__gte=0),
                name="environment_numbers_in_range",
            ),
            models.CheckConstraint(
                condition=finite("test_elo0")
                & positive("test_cap")
                & models.Q(test_elo0__gte=-200, test_elo1__lte=200, test_elo1__gt=models.F("test_elo0"))
                & models.Q(test_alpha__gt=0, test_alpha__lt=0.5, test_beta__gt=0, test_beta__lt=0.5),
                name="environment_test_is_possible",
            ),
            models.CheckConstraint(
                condition=models.Q(kind="RULES") | models.Q(kind="APP", seats=1), name="environment_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def spec_id(self) -> str:
        """Id of the spec for new duels, e.g. `connect-four-v1`."""
        return f"{self.slug}-v{self.version}"

    @property
    def runs_scripts(self) -> bool:
        """Return whether it takes scripts and this arena can run them, which a cluster cannot."""
        return self.takes_scripts and settings.SANDBOX != "kubernetes"

    @property
    def rules_ids(self) -> tuple[str, str]:
        """Ids of today's rules, with their openings and without."""
        return self.spec_id, self.spec_id + BARE

    @property
    def is_available(self) -> bool:
        """Return whether its rules can run on this arena: nothing that they need is missing or broken."""
        return not self.unavailable_because

    @property
    def closed_because(self) -> str:
        """Why no new duels are made here, as a sentence for everyone; empty while they are."""
        if not self.is_active:
            return f"{self} is closed at the moment: no new duels are made."
        return "" if self.is_available else self.unavailable_sentence

    @property
    def unavailable_sentence(self) -> str:
        """The sentence for everyone where it is not available; the remedy is for organisers only."""
        return f"{self} is not available on this arena at the moment. The organisers can see why."

    @property
    def is_scored(self) -> bool:
        """Return whether submissions are ranked by what they reach alone, scores or solved tasks, not by duels."""
        return self.seats == 1

    @property
    def is_app(self) -> bool:
        """Return whether it is an application, in which agents work at tasks."""
        return self.kind == EnvironmentKind.APP

    @property
    def is_added(self) -> bool:
        """Return whether a submission added it, and no file in a folder describes it."""
        return bool(self.added_file)

    @property
    def limits(self) -> Limits:
        """The limits of a player in this environment."""
        return Limits(
            cpu_count=self.cpu_count,
            memory_limit_bytes=self.memory_limit_bytes,
            gpu_count=self.gpu_count,
            move_seconds=self.move_seconds,
            bank_seconds=self.bank_seconds,
            start_seconds=self.start_seconds,
            duel_seconds=self.duel_seconds,
            validation_seconds=self.validation_seconds,
        )
