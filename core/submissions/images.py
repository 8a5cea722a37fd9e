"""Rebuilds versions whose images are missing on the builder's host, e.g. after a restore on another machine.

Only a worker with an engine can find missing images, so a restore creates a schedule that repeats until an engine has
answered. The watchdog delays duels that wait for these builds, because the builders may read no other message for long.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, OuterRef, Q
from django.db.models.functions import Now
from django_q.models import Schedule

from core.errors import Refused
from core.jobs.apart import apart
from core.jobs.kinds import JOB_MODELS
from core.jobs.locks import agent_lock
from core.jobs.messages import IMAGES_CHECK_TASK
from core.jobs.schedules import message_of
from core.jobs.states import OPEN, wait_until
from core.models import LADDER, Build, Duel, JobState, Participant, Submission, TournamentState
from core.submissions.existing import submission_rebuild

logger = logging.getLogger(__name__)
CHECK = "images after a restore"
EVERY_MINUTES = 1
DELAY = timedelta(minutes=2)
"""Delay of a duel whose players are being rebuilt: a little longer than until the watchdog's next look."""


def has_to_play() -> Q:
    """Match submissions with open jobs or in a running edition, without those that have left a ladder."""
    running = Participant.objects.filter(tournament__state=TournamentState.RUNNING)
    running = running.exclude(tournament__format=LADDER, withdrawn_at__isnull=False)
    found = Q(pk__in=running.order_by().values("submission"))
    for model in JOB_MODELS.values():
        for name in [field.name for field in model._meta.fields if field.related_model is Submission]:
            found |= Q(pk__in=model._base_manager.filter(state__in=OPEN).order_by().values(name))
    return found


def images_check_start() -> None:
    """Schedule a check for missing images, which repeats every minute until an engine answers."""
    Schedule.objects.update_or_create(
        name=CHECK,
        defaults={
            **message_of("build", IMAGES_CHECK_TASK),
            "schedule_type": Schedule.MINUTES,
            "minutes": EVERY_MINUTES,
            "repeats": -1,
        },
    )


def images_check_end() -> None:
    """Remove the schedule, because the missing images are known."""
    Schedule.objects.filter(name=CHECK).delete()


def image_lost(*, submission: Submission, now: datetime) -> bool:
    """Handle a missing image: rebuild its submission if it plays, and return whether it does.

    A submission plays if its agent has no newer valid version that is not benched, or if it still has to play. Any
    other is marked as having no image any more.
    """
    rows = Submission.objects.filter(pk=submission.pk, image=submission.image, deleted_at=None)
    newer = Submission.objects.validated().filter(
        agent=submission.agent_id, number__gt=submission.number, is_benched=False
    )
    newest = rows.validated().filter(~Exists(newer))
    with transaction.atomic():
        # The agent is locked first, see `core.jobs.locks`.
        agent_lock(submission.agent_id)
        plays = newest.exists() or rows.filter(has_to_play()).exists()
        if rows.update(image="", image_digest="", registry_digest="", image_removed_at=None if plays else now) != 1:
            # A build has replaced the image meanwhile, or the submission was deleted.
            return False
        if plays:
            submission_rebuild(submission=submission)
    return plays


def duels_delay_rebuilt() -> None:
    """Delay the duels whose players have no image and are being rebuilt, because their attempts would fail."""
    _removed_build_again()
    again = Build.objects.filter(submission=OuterRef("pk"), state__in=OPEN)
    without = Submission.objects.filter(Exists(again), image="").order_by().values("pk")
    waiting = Duel.objects.filter(Q(player_1__in=without) | Q(player_2__in=without), state=JobState.QUEUED)
    wait_until(
        waiting,
        moment=ExpressionWrapper(Now() + DELAY, output_field=DateTimeField()),
        code="image_missing",
        error="One of its players is being rebuilt, because its image was missing.",
    )


def _removed_build_again() -> None:
    """Rebuild versions that wait for a duel although their images were removed, each once.

    This happens when a round of a tournament that ended long ago is voided and drawn again.
    """
    waiting = Duel.objects.filter(state=JobState.QUEUED)
    tried = Build.objects.filter(submission=OuterRef("pk"), created_at__gt=OuterRef("image_removed_at"))
    removed = Submission.objects.filter(~Exists(tried), image_removed_at__isnull=False, deleted_at=None)
    drawn = Q(pk__in=waiting.values("player_1")) | Q(pk__in=waiting.values("player_2"))
    for submission in removed.filter(drawn):
        # A submission that was just deleted refuses; its duels are cancelled.
        with apart(f"The image of {submission}"), suppress(Refused), transaction.atomic():
            agent_lock(submission.agent_id)
            # Checked again under the lock: a second rebuild would cancel the first.
            if removed.filter(pk=submission.pk).exists():
                submission_rebuild(submission=submission)
