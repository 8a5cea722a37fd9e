"""Agents and their submissions."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.apps import apps
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower

from core.models.environment import Environment
from core.models.user import User

if TYPE_CHECKING:
    from core.models.build import Build
    from core.models.evaluation import Evaluation
    from core.models.publication import Publication
    from core.models.validation import Validation

ARCHIVES = "archives"
"""The folder of the file store that holds the archives."""
agent_name = RegexValidator(
    r"\A[A-Za-z0-9](?:[A-Za-z0-9_-]{0,48}[A-Za-z0-9])?\Z",
    "Use only letters, digits, hyphens and underscores, with a letter or digit at both ends.",
)


class Opponents(models.TextChoices):
    """Which people may sit down against an agent in the browser."""

    NOBODY = "NOBODY", "only its owner"
    MEMBERS = "MEMBERS", "people with an account"
    EVERYONE = "EVERYONE", "everyone"


class KeptManager(models.Manager["Agent"]):
    """The agents that their owners keep. Deleted ones are in no list, and pages of results alone name them."""

    def get_queryset(self) -> models.QuerySet[Agent]:
        return super().get_queryset().filter(deleted_at=None)


class Agent(models.Model):
    """An agent that a user uploads and names; it belongs to one environment and has numbered submissions."""

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="agents")
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(max_length=50, validators=[agent_name])
    is_public = models.BooleanField(default=False, help_text="Everyone can read its source and logs.")
    shares_moves = models.BooleanField(
        null=True, help_text="Whether its matches are part of public data sets; empty: if it is public."
    )
    description = models.TextField(blank=True, max_length=2000, help_text="What its owner says about it, in Markdown.")
    is_disabled = models.BooleanField(default=False, help_text="A disabled agent does not take part.")
    disabled_reason = models.CharField(max_length=200, blank=True)
    is_resting = models.BooleanField(
        default=False, help_text="Its owner keeps it out of everything new and hides it from lists."
    )
    opponents = models.CharField(
        max_length=8,
        choices=Opponents.choices,
        default=Opponents.MEMBERS,
        help_text="Who may play it in the browser. Agents of organisers are open to everyone, unless closed.",
    )
    quarantined_at = models.DateTimeField(
        null=True, editable=False, help_text="When the arena disabled it for crashing; empty otherwise."
    )
    quarantined_number = models.PositiveIntegerField(
        null=True, editable=False, help_text="The version that crashed; a later one that validates ends the quarantine."
    )
    forgiven_entry = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Crashes up to this ledger entry no longer count."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(
        null=True, editable=False, help_text="When it was deleted; agents for trials are made with it."
    )

    objects = KeptManager()
    every = models.Manager["Agent"]()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint("environment", Lower("name"), name="agent_name_unique"),
            models.CheckConstraint(
                condition=models.Q(quarantined_at=None, quarantined_number=None)
                | models.Q(quarantined_at__isnull=False, quarantined_number__isnull=False, is_disabled=True),
                name="agent_quarantine_whole",
            ),
            models.CheckConstraint(
                condition=models.Q(opponents__in=["NOBODY", "MEMBERS", "EVERYONE"]), name="agent_opponents_known"
            ),
        ]
        indexes = [
            models.Index(fields=["environment", "owner"], name="agent_owned"),
            models.Index(fields=["environment"], condition=models.Q(is_disabled=True), name="agent_disabled"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_in_datasets(self) -> bool:
        """Return whether its matches are part of public data sets."""
        return self.is_public if self.shares_moves is None else self.shares_moves

    @property
    def is_quarantined(self) -> bool:
        """Return whether the arena disabled it for crashing."""
        return self.quarantined_at is not None


class FormerName(models.Model):
    """A name that an agent had, so that its old address leads to the new one."""

    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="former_names")
    name = models.CharField(max_length=50)

    class Meta:
        constraints = [models.UniqueConstraint("environment", Lower("name"), name="former_name_unique")]

    def __str__(self) -> str:
        return f"{self.name}, now {self.agent}"


def archive_name(submission: Submission | None, filename: str) -> str:
    """Return the storage name of an uploaded archive; nothing of the user's file name is kept."""
    return f"{ARCHIVES}/{uuid.uuid4()}.zip"


class SubmissionQuerySet(models.QuerySet["Submission"]):
    def valid(self) -> SubmissionQuerySet:
        """Return submissions that may play: validated, with agent and owner not barred."""
        return self.validated().filter(agent__is_disabled=False, agent__owner__is_active=True)

    def active(self) -> SubmissionQuerySet:
        """Return submissions that may play for their agent; the newest one of each agent does."""
        return self.valid().filter(is_benched=False, agent__is_resting=False)

    def playing_for(self, agent: Agent | int | models.OuterRef) -> SubmissionQuerySet:
        """Return the submissions that may play for an agent; the first one does."""
        return self.active().filter(agent=agent).order_by("-number")

    def newest_by_agent(self) -> dict[int, Submission]:
        """Return the newest of these submissions of each agent by its id; of active ones, it is the one that plays."""
        return {row.agent_id: row for row in self.order_by("agent_id", "number")}

    def pending(self) -> SubmissionQuerySet:
        """Return submissions that are being built or validated, and may play for their agent if that succeeds."""
        kinds = (apps.get_model("core", kind).objects for kind in ("Build", "Validation"))
        works = [
            models.Exists(jobs.filter(submission=models.OuterRef("pk"), state__in=("QUEUED", "RUNNING")))
            for jobs in kinds
        ]
        return self.filter(
            models.Q(works[0]) | models.Q(works[1]),
            agent__is_disabled=False,
            agent__owner__is_active=True,
            agent__is_resting=False,
            is_benched=False,
            deleted_at=None,
            is_trial=False,
        )

    def publishable(self) -> SubmissionQuerySet:
        """Return submissions whose source may be shown: those that work, whether or not they play at present."""
        is_valid = (
            models.Q(validation_state="SUCCEEDED") | models.Q(form="SCRIPT") | models.Q(agent__environment__kind="APP")
        )
        return self.alias(build_state=latest_state("Build"), validation_state=latest_state("Validation")).filter(
            is_valid, build_state="SUCCEEDED", deleted_at=None, is_trial=False
        )

    def validated(self) -> SubmissionQuerySet:
        """Return submissions that can play: latest build and validation succeeded, image kept."""
        return self.alias(build_state=latest_state("Build"), validation_state=latest_state("Validation")).filter(
            build_state="SUCCEEDED",
            validation_state="SUCCEEDED",
            deleted_at=None,
            image_removed_at=None,
            is_trial=False,
        )


def has_worked() -> models.Q:
    """Return the condition for submissions that have worked once: validated, or scored where agents play alone.

    An application needs a build only. Trials play for no agent, so they do not count.
    """

    def succeeded(kind: str) -> models.Exists:
        jobs = apps.get_model("core", kind).objects.filter(submission=models.OuterRef("pk"), state="SUCCEEDED")
        return models.Exists(jobs)

    return models.Q(is_trial=False) & (
        (models.Q(agent__environment__seats__gt=1) & models.Q(succeeded("Validation")))
        | models.Q(succeeded("Evaluation"))
        | (models.Q(agent__environment__kind="APP") & models.Q(succeeded("Build")))
    )


def latest_state(kind: str) -> models.Subquery:
    """Return the state of a submission's latest job of a kind, for a query of submissions."""
    jobs = apps.get_model("core", kind).objects.filter(submission=models.OuterRef("pk")).order_by("-pk")
    return models.Subquery(jobs.values("state")[:1])


class SubmissionForm(models.TextChoices):
    """The kind of a submission."""

    PLAYER = "PLAYER", "player"
    SCRIPT = "SCRIPT", "script"
    IMAGE = "IMAGE", "container image"


class Submission(models.Model):
    """An immutable numbered version of an agent. Its phases are jobs: build, validation, publication."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="submissions")
    number = models.PositiveIntegerField(help_text="From 1 within the agent.")
    public_id = models.UUIDField(
        unique=True, default=uuid.uuid4, help_text="Its id for clients of the API, who may choose it."
    )
    form = models.CharField(
        max_length=6,
        choices=SubmissionForm.choices,
        default=SubmissionForm.PLAYER,
        help_text="A script plays its environment itself and reports its score; a container image holds a player.",
    )
    algorithm = models.CharField(max_length=100, blank=True, help_text="The owner's name for the method.")
    address_digest = models.CharField(
        max_length=32,
        blank=True,
        editable=False,
        help_text="For an anonymous client: a hash of its address and the day, which its quota is counted by.",
    )
    user_label = models.CharField(
        max_length=100, blank=True, help_text="The name that an anonymous client gave; it is not verified."
    )
    archive = models.FileField(upload_to=archive_name, max_length=200)
    archive_sha256 = models.CharField(max_length=64)
    archive_bytes = models.PositiveBigIntegerField()
    image = models.CharField(max_length=200, blank=True, help_text="Set by the build.")
    image_digest = models.CharField(max_length=100, blank=True)
    registry_digest = models.CharField(
        max_length=100, blank=True, editable=False, help_text="Digest of its manifest in PLAYER_REGISTRY."
    )
    image_name = models.CharField(
        max_length=255, blank=True, editable=False, help_text="The image that was submitted, as its uploader named it."
    )
    image_removed_at = models.DateTimeField(
        null=True, editable=False, help_text="When its image was removed; it can no longer play."
    )
    needs_fresh_container = models.BooleanField(
        default=False, help_text="It cannot be forked; the validation found this out."
    )
    warnings = models.JSONField(default=list, help_text="Warnings of the build for the owner, as sentences.")
    is_benched = models.BooleanField(
        default=False,
        help_text="It does not play for its agent; the newest version that is not benched does.",
    )
    is_trial = models.BooleanField(
        default=False,
        editable=False,
        help_text="It was sent to be tried: it plays for no agent and is deleted afterwards.",
    )
    trial_opponent = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
        help_text="The version that it was sent to be tried against; empty for a trial against itself.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = SubmissionQuerySet.as_manager()
    is_repeat = False
    """Whether an upload returned this version because the same files had made it before; in memory only."""

    class Meta:
        ordering = ["agent", "number"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "number"], name="submission_number_unique"),
            models.CheckConstraint(
                condition=models.Q(number__gte=1, form__in=["PLAYER", "SCRIPT", "IMAGE"])
                & (models.Q(image_removed_at=None) | models.Q(image="")),
                name="submission_is_whole",
            ),
        ]
        indexes = [
            models.Index(fields=["created_at"], name="submission_created"),
            models.Index(
                fields=["address_digest"], condition=~models.Q(address_digest=""), name="submission_of_address"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent} v{self.number}"

    @property
    def launched_image(self) -> str:
        """The image that a sandbox launches: a content id, which no other image can have, or a folder."""
        return self.image_digest or self.image

    @property
    def latest_build(self) -> Build | None:
        """The newest build (uses a prefetch of `builds` if there is one)."""
        return max(self.builds.all(), key=lambda job: job.pk, default=None)

    @property
    def latest_validation(self) -> Validation | None:
        return max(self.validations.all(), key=lambda job: job.pk, default=None)

    @property
    def latest_publication(self) -> Publication | None:
        return max(self.publications.all(), key=lambda job: job.pk, default=None)

    @property
    def latest_evaluation(self) -> Evaluation | None:
        return max(self.evaluations.all(), key=lambda job: job.pk, default=None)
