from __future__ import annotations

import secrets

from django.db import models

from core.models.agent import Submission
from core.models.environment import Environment
from core.models.job import Job, JobState, artifact_name, job_indexes
from core.models.limits import finite
from core.models.run import Run
from core.models.user import User
from core.models.validation import Validation
from core.models.verdict import Checkable


class SeedPurpose(models.TextChoices):
    """The purpose of a list of seeds."""

    PRACTICE = "PRACTICE", "practice"
    RANKING = "RANKING", "ranking"
    FINAL = "FINAL", "final phase"


class SeedList(models.Model):
    """The seeds of an evaluation's episodes. Practice lists are public, other lists only once they are revealed.

    The newest list that is neither for practice nor of an assignment or a tournament ranks an environment.
    """

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="seed_lists")
    purpose = models.CharField(max_length=8, choices=SeedPurpose.choices)
    seeds = models.JSONField(help_text="Whole numbers, in the order of the episodes.")
    sha256 = models.CharField(
        max_length=64, help_text="Hash of the seeds as decimal numbers, each ended by a line feed; always public."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    revealed_at = models.DateTimeField(null=True, blank=True, help_text="When the seeds became public.")
    assignment = models.OneToOneField(
        "core.Assignment", on_delete=models.CASCADE, null=True, editable=False, related_name="seed_list"
    )
    """Set for seeds that count in an assignment alone."""
    tournament = models.OneToOneField(
        "core.Tournament", on_delete=models.CASCADE, null=True, editable=False, related_name="seed_list"
    )
    """Set for seeds that count in a tournament alone."""

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(purpose__in=["PRACTICE", "RANKING", "FINAL"]), name="seedlist_purpose_known"
            )
        ]

    def __str__(self) -> str:
        return f"{len(self.seeds)} seeds of {self.environment} for {self.get_purpose_display()}"

    @property
    def is_public(self) -> bool:
        return self.purpose == SeedPurpose.PRACTICE or self.revealed_at is not None


ORDER_SECRET_BYTES = 32


TENTHS = 10
"""Into how many steps the progress of an evaluation on hidden seeds is divided."""


def new_order_secret() -> str:
    """Return a new secret, in hex, that the order of an evaluation's episodes is drawn from."""
    return secrets.token_hex(ORDER_SECRET_BYTES)


class CountedManager(models.Manager["Evaluation"]):
    """The evaluations that count. Those of programs, assignments and tournaments are on no board and have no page."""

    def get_queryset(self) -> models.QuerySet[Evaluation]:
        return super().get_queryset().filter(run=None, assignment=None, tournament=None)


class Evaluation(Job, Checkable):
    """Episodes of one submission in a one-seat environment, played under the referee; or one run of a script.

    Episodes are verified, because the arena runs the environment; a script reports its own score. A FAILED evaluation
    does not count.
    """

    KIND = "evaluation"
    OWNER = "agent__owner"
    ENVIRONMENT = "environment"
    RELATED = ("submission__agent__environment", "submission__agent__owner", "seed_list")
    LINES = ("is_heavy", "is_verified")

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="evaluations")
    agent = models.ForeignKey("core.Agent", on_delete=models.PROTECT, related_name="evaluations")
    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="evaluations")
    """That of the submission, repeated here so that one index can read a board of a million rows."""
    environment_version = models.CharField(max_length=60, help_text="Id of the spec that it is played with.")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, null=True, blank=True, related_name="evaluation")
    """Set for one that a program asked for, on public seeds; it counts for nothing."""
    assignment = models.ForeignKey(
        "core.Assignment", on_delete=models.CASCADE, null=True, blank=True, related_name="evaluations"
    )
    """Set for one on the seeds of an assignment; it counts there alone."""
    tournament = models.ForeignKey("core.Tournament", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    """Set for one on the seeds of a tournament; it counts there alone."""
    void_because = models.CharField(
        max_length=200, blank=True, db_default="", editable=False, help_text="Why it counts for its tournament no more."
    )
    seed_list = models.ForeignKey(SeedList, on_delete=models.PROTECT, null=True, related_name="evaluations")
    """None for a script."""
    order_secret = models.CharField(
        max_length=2 * ORDER_SECRET_BYTES,
        default=new_order_secret,
        editable=False,
        help_text="The order of the episodes follows from it; with it, the seed of every episode is known.",
    )
    is_verified = models.BooleanField(default=True, help_text="Whether the arena itself stepped the environment.")
    is_heavy = models.BooleanField(
        default=False, editable=False, help_text="Whether its environment was heavy when it was put in line."
    )
    is_current = models.BooleanField(
        default=False, editable=False, help_text="Whether its agent stands on the board with it."
    )
    episode_count = models.PositiveIntegerField(default=0, help_text="Episodes to play, or played by a script.")
    episodes_done = models.PositiveIntegerField(default=0, editable=False)
    score = models.FloatField(null=True, editable=False, help_text="Mean score of the episodes, or a script's report.")
    score_low = models.FloatField(null=True, editable=False, help_text="Lower end of the mean's 95% interval.")
    score_high = models.FloatField(null=True, editable=False)
    interquartile_mean = models.FloatField(null=True, editable=False)
    median = models.FloatField(null=True, editable=False)
    worst_decile = models.FloatField(null=True, editable=False, help_text="Mean of the worst tenth of the episodes.")
    seconds_per_move = models.FloatField(null=True, editable=False)
    episodes = models.JSONField(
        default=list,
        editable=False,
        help_text="By episode: place of its seed in the list, score, length, thinking seconds. Only for staff while "
        "the seeds are hidden.",
    )
    metrics = models.JSONField(default=list, editable=False, help_text="What a script reported besides its score.")
    runtime = models.CharField(max_length=200, blank=True, editable=False, help_text="Versions of the environment.")
    records = models.FileField(upload_to=artifact_name, max_length=200, blank=True, editable=False)
    record_sha256 = models.CharField(max_length=64, blank=True, editable=False, help_text="Hash of the play.")
    player_log = models.FileField(upload_to=artifact_name, max_length=200, blank=True, editable=False)
    player_digest = models.CharField(max_length=100, blank=True, editable=False, help_text="Content id of the image.")

    objects = CountedManager()
    every = models.Manager["Evaluation"]()

    class Meta(Job.Meta):
        ordering = ["pk"]
        indexes = [
            *job_indexes("is_heavy", "is_verified"),
            # The board by rank and by date. With the agent at the end, both exclude barred agents without reading
            # the table.
            models.Index(
                models.F("environment"),
                models.F("is_verified").desc(),
                models.F("score").desc(),
                models.F("created_at"),
                models.F("id"),
                models.F("agent"),
                condition=models.Q(is_current=True),
                name="evaluation_board",
            ),
            models.Index(
                models.F("environment"),
                models.F("created_at").desc(),
                models.F("id").desc(),
                models.F("agent"),
                condition=models.Q(is_current=True),
                name="evaluation_newest",
            ),
        ]
        constraints = [
            *Job.Meta.constraints,
            *Checkable.Meta.constraints,
            models.CheckConstraint(
                condition=(~models.Q(state="SUCCEEDED") | models.Q(score__isnull=False))
                & models.Q(episodes_done__lte=models.F("episode_count"))
                & finite("score", "score_low", "score_high"),
                name="evaluation_result_is_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(is_verified=True, seed_list__isnull=False)
                | models.Q(is_verified=False, seed_list=None),
                name="evaluation_verified_has_seeds",
            ),
            models.CheckConstraint(
                condition=models.Q(is_current=False) | models.Q(state="SUCCEEDED", score__isnull=False, run=None),
                name="evaluation_current_has_score",
            ),
            models.UniqueConstraint(
                fields=["agent"], condition=models.Q(is_current=True), name="evaluation_one_current_an_agent"
            ),
        ]

    def __str__(self) -> str:
        return f"evaluation of {self.submission}"

    @property
    def episodes_shown(self) -> int:
        """The finished episodes as pages show them: on hidden seeds in tenths, and all of them only with the result.

        The exact number would say which episode ends at a moment, and so link an episode to what else is seen then.
        """
        is_open = self.seed_list is None or self.seed_list.is_public or self.state == JobState.SUCCEEDED
        if is_open:
            return self.episodes_done
        # A tenth of a short list could be a single episode.
        step = max(2, -(-self.episode_count // TENTHS))
        return self.episodes_done // step * step


class Recording(Job):
    """A video, or a replay where states are text, of one episode of an evaluation or of the practice before it."""

    KIND = "recording"
    OWNER = "evaluation__agent__owner"
    ENVIRONMENT = "evaluation__environment"
    RELATED = ("evaluation__environment", "evaluation__submission")

    class Choice(models.TextChoices):
        BEST = "BEST", "best"
        MEDIAN = "MEDIAN", "median"
        WORST = "WORST", "worst"

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="recordings")
    practice = models.ForeignKey(
        Validation,
        on_delete=models.PROTECT,
        null=True,
        related_name="recordings",
        help_text="The practice run on public seeds that the episode is from; empty for the evaluation itself.",
    )
    choice = models.CharField(max_length=6, choices=Choice.choices)
    episode_number = models.PositiveIntegerField()
    video = models.FileField(upload_to=artifact_name, max_length=200, blank=True, editable=False)
    poster = models.FileField(upload_to=artifact_name, max_length=200, blank=True, editable=False)
    steps = models.FileField(
        upload_to=artifact_name,
        max_length=200,
        blank=True,
        editable=False,
        help_text="JSON: rewards and returns by step.",
    )
    text = models.FileField(
        upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text="JSON: states as text."
    )
    replay_document = models.FileField(
        upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text="The replay for programs, gzip."
    )
    replay_page = models.FileField(
        upload_to=artifact_name, max_length=200, blank=True, editable=False, help_text="The replay as HTML, gzip."
    )

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(choice__in=["BEST", "MEDIAN", "WORST"], episode_number__gte=1),
                name="recording_in_range",
            ),
            models.UniqueConstraint(fields=["evaluation", "choice"], name="recording_choice_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.get_choice_display()} episode of {self.evaluation}"
