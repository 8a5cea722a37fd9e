"""Images that the builder's host does not have, as after a restore on another machine: who plays is built again.

Only a worker with an engine can tell, so a restore leaves a schedule, which goes on until an engine has answered. The
duels that wait for builds rest by the watchdog: the builders are busy then, and may look at no other message for long.
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
from core.evaluations.services import agent_lock
from core.jobs.apart import apart
from core.jobs.bells import IMAGES_CHECK_TASK
from core.jobs.kinds import JOB_MODELS
from core.jobs.schedules import message_of
from core.jobs.states import wait_until
from core.models import LADDER, Build, Duel, JobState, Participant, Submission, TournamentState
from core.submissions.services import submission_rebuild

logger = logging.getLogger(__name__)
OPEN = (JobState.QUEUED, JobState.RUNNING)
CHECK = "images after a restore"
EVERY_MINUTES = 1
REST = timedelta(minutes=2)
"""How long a duel rests whose players are built again: until the watchdog comes again, and a little longer."""


def has_to_play() -> Q:
    """Submissions with jobs that are not over, or in an edition that runs; from a ladder they may have gone."""
    running = Participant.objects.filter(tournament__state=TournamentState.RUNNING)
    running = running.exclude(tournament__format=LADDER, withdrawn_at__isnull=False)
    found = Q(pk__in=running.order_by().values("submission"))
    for model in JOB_MODELS.values():
        for name in [field.name for field in model._meta.fields if field.related_model is Submission]:
            found |= Q(pk__in=model._default_manager.filter(state__in=OPEN).order_by().values(name))
    return found


def images_check_start() -> None:
    """Have the builder look for missing images as soon as it works, and again every minute until an engine answers."""
    Schedule.objects.update_or_create(
        name=CHECK,
        defaults={
            **message_of(IMAGES_CHECK_TASK),
            "schedule_type": Schedule.MINUTES,
            "minutes": EVERY_MINUTES,
            "repeats": -1,
            "cluster": "build",
        },
    )


def images_check_end() -> None:
    """It is known which images are missing."""
    Schedule.objects.filter(name=CHECK).delete()


def image_lost(*, submission: Submission, now: datetime) -> bool:
    """What a submission launches is not there: build it again, if it plays; return whether.

    It plays when its agent has no newer version that is built, validated and not benched, or when it still has to. Any
    other is as one whose image is not kept any longer.
    """
    rows = Submission.objects.filter(pk=submission.pk, image=submission.image, deleted_at=None)
    newer = Submission.objects.validated().filter(
        agent=submission.agent_id, number__gt=submission.number, is_benched=False
    )
    newest = rows.validated().filter(~Exists(newer))
    with transaction.atomic():
        # First, as everybody does.
        agent_lock(submission.agent_id)
        plays = newest.exists() or rows.filter(has_to_play()).exists()
        if rows.update(image="", image_digest="", image_removed_at=None if plays else now) != 1:
            # A build has put another one in its place meanwhile, or it was deleted.
            return False
        if plays:
            submission_rebuild(submission=submission)
    return plays


def duels_let_rest() -> None:
    """Let duels rest whose players have no image and are built again, as none of their attempts could succeed."""
    _removed_build_again()
    again = Build.objects.filter(submission=OuterRef("pk"), state__in=OPEN)
    without = Submission.objects.filter(Exists(again), image="").order_by().values("pk")
    waiting = Duel.objects.filter(Q(player_1__in=without) | Q(player_2__in=without), state=JobState.QUEUED)
    wait_until(
        waiting,
        moment=ExpressionWrapper(Now() + REST, output_field=DateTimeField()),
        code="image_missing",
        error="A player of it is built again, as its image is not there any longer.",
    )


def _removed_build_again() -> None:
    """Build versions again that wait for a duel and whose images were not kept, each once.

    As when a round is voided of a tournament that had ended long ago, and the next one is drawn anew.
    """
    waiting = Duel.objects.filter(state=JobState.QUEUED)
    tried = Build.objects.filter(submission=OuterRef("pk"), created_at__gt=OuterRef("image_removed_at"))
    removed = Submission.objects.filter(~Exists(tried), image_removed_at__isnull=False, deleted_at=None)
    drawn = Q(pk__in=waiting.values("player_1")) | Q(pk__in=waiting.values("player_2"))
    for submission in removed.filter(drawn):
        # Deleted a moment ago: its duels are cancelled.
        with apart(f"The image of {submission}"), suppress(Refused), transaction.atomic():
            agent_lock(submission.agent_id)
            # Of two that look at once, one would cancel what the other has begun.
            if removed.filter(pk=submission.pk).exists():
                submission_rebuild(submission=submission)
