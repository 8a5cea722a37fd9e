"""Retention: logs, records, recordings, images, sessions and messages are deleted after a number of days each.

The ledger and everything that standings, ratings and boards are computed from is never touched. A row shows that its
file was deleted, see `core.files.removed`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.storage import default_storage
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone
from django_q.models import Task

from core.environments.additions import UNUSED_DAYS, additions_expire
from core.evaluations.selectors import evaluations_checkable
from core.files.removed import REMOVED, removed_name
from core.files.storage import incoming_sweep, may_be_stored
from core.files.uploads import uploads_sweep
from core.jobs.kinds import JOB_MODELS
from core.jobs.states import OPEN
from core.models import (
    LADDER,
    AccountEvent,
    Alarm,
    Delivery,
    DeliveryState,
    Duel,
    Evaluation,
    Job,
    JobState,
    Notice,
    RecheckVerdict,
    Recording,
    Rollout,
    Sitting,
    Submission,
    Tournament,
    TournamentState,
    Validation,
)
from core.models.agent import ARCHIVES
from core.models.tournament import PICTURES
from core.ratings.services import rating_points_thin
from core.submissions.images import has_to_play
from core.submissions.trials import trials_sweep
from core.watching.services import moves_forget

logger = logging.getLogger(__name__)
Row = TypeVar("Row", bound=Model)
AnyJob = TypeVar("AnyJob", bound=Job)
AnyResult = TypeVar("AnyResult", Duel, Evaluation)

LOG_REMOVED = "[This log is no longer kept: it was deleted on {}.]"
DELETION = timedelta(hours=1)
"""Time after which a deleted submission's archive is gone, unless its deletion failed."""
PLAYER_LOGS: tuple[tuple[type[Job], tuple[str, ...]], ...] = (
    (Duel, ("player_1_log", "player_2_log")),
    (Validation, ("player_1_log", "player_2_log")),
    (Sitting, ("player_1_log", "player_2_log")),
    (Evaluation, ("player_log",)),
    (Rollout, ("player_log", "world_log", "model_log")),
)
NEVER = Q(pk__in=())
"""Matches no row."""
RECORDED = ("video", "poster", "steps", "text", "replay_document", "replay_page")
WATCHED = ("video", "trace", "pages")
SESSION_DAYS = 1
"""Days for which sessions are kept after their end."""
MESSAGE_DAYS = 30
"""Days for which the queue's notes on a delivered message are kept."""
RATING_DAYS = 30
"""Days for which every moment of a rating's history is kept; after that, only the last one of each day is."""
NOTICE_DAYS = 90
"""Days for which read notices, deliveries to webhooks, and what happened to accounts are kept."""


@dataclass(frozen=True, slots=True)
class Cleared:
    """The result for one kind of data. days: retention time, 0 forever. count: number of deleted items."""

    what: str
    days: int
    count: int


def retention_run(_: int = 0) -> None:
    """Delete what is past its retention time; scheduled daily."""
    if count := incoming_sweep():
        logger.info("%d abandoned uploads were deleted.", count)
    if count := uploads_sweep(Submission, "archive", ARCHIVES, now=timezone.now()):
        logger.info("%d archives that belong to no version were deleted.", count)
    if count := uploads_sweep(Tournament, "picture", PICTURES, now=timezone.now()):
        logger.info("%d pictures that belong to no tournament were deleted.", count)
    if count := trials_sweep(now=timezone.now()):
        logger.info("%d forgotten trials were deleted.", count)
    if count := moves_forget():
        logger.info("%d rows that were told of duels that are over were deleted.", count)
    for cleared in retention_apply(now=timezone.now()):
        if cleared.count:
            logger.info("%d %s were deleted after %d days.", cleared.count, cleared.what, cleared.days)


def retention_apply(*, now: datetime, dry_run: bool = False) -> list[Cleared]:
    """Delete what is past its retention time; with `dry_run` only count it."""
    kinds: tuple[tuple[str, int, Callable[[datetime, datetime, bool], int]], ...] = (
        ("job logs", settings.KEEP_DAYS["logs"], _job_logs),
        ("players' logs", settings.KEEP_DAYS["logs"], _player_logs),
        ("records", settings.KEEP_DAYS["records"], _records),
        ("recorded episodes", settings.KEEP_DAYS["recordings"], _recordings),
        ("recorded rollouts", settings.KEEP_DAYS["rollouts"], _rollouts),
        ("images", settings.KEEP_DAYS["images"], _images),
        ("ended sessions", SESSION_DAYS, _sessions),
        ("logins and changes of accounts", NOTICE_DAYS, _events),
        ("messages", MESSAGE_DAYS, _messages),
        ("ratings of the past", RATING_DAYS, _ratings),
        ("notices", NOTICE_DAYS, _notices),
        ("deliveries to webhooks", NOTICE_DAYS, _deliveries),
        ("environments without agents", UNUSED_DAYS, additions_expire),
    )
    done = [
        Cleared(what, days, act(now - timedelta(days=days), now, dry_run) if days else 0) for what, days, act in kinds
    ]
    # Not a setting, because the page that deletes a version promises that its archive goes at once.
    return [*done, Cleared("archives of deleted versions", 0, _deleted_archives(now - DELETION, now, dry_run))]


def _job_logs(before: datetime, now: datetime, dry_run: bool) -> int:
    note = LOG_REMOVED.format(now.date().isoformat())
    count = 0
    for kind, model in JOB_MODELS.items():
        rows = _over(model, before).exclude(log="").exclude(log__startswith=LOG_REMOVED.partition("{")[0])
        rows = rows.exclude(pk__in=_disputed(kind))
        count += rows.count() if dry_run else rows.update(log=note)
    return count


def _player_logs(before: datetime, now: datetime, dry_run: bool) -> int:
    return sum(
        _remove_files(_over(model, before).exclude(pk__in=_disputed(model.KIND)), field, now, dry_run)
        for model, fields in PLAYER_LOGS
        for field in fields
    )


def _records(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete records that need no more checks: already rechecked, undisputed, and not of current standings."""
    # A ladder never ends, so its records are deleted by age.
    running = Q(tournament__state=TournamentState.RUNNING) & ~Q(tournament__format=LADDER)
    duels = _over(Duel, before).exclude(running)
    drawn = Recording.objects.filter(evaluation=OuterRef("pk"), state__in=OPEN)
    evaluations = _over(Evaluation, before).exclude(running).filter(~Exists(drawn), is_current=False)
    count = _remove_files(_over(Validation, before), "records", now, dry_run)
    count += _remove_files(_over(Sitting, before), "records", now, dry_run)
    count += _remove_files(_checked(duels), "records", now, dry_run)
    never = ~Q(pk__in=evaluations_checkable())
    return count + _remove_files(_checked(evaluations, never), "records", now, dry_run)


def _checked(rows: QuerySet[AnyResult], never: Q = NEVER) -> QuerySet[AnyResult]:
    """Return undisputed rows; where a sample is rechecked, only those that were. never: those that no sample has."""
    agreed = rows.exclude(verdict=RecheckVerdict.MISMATCH).exclude(pk__in=_disputed(rows.model.KIND))
    if settings.RECHECK_SAMPLE:
        return agreed.filter(~Q(state=JobState.SUCCEEDED) | Q(verified_at__isnull=False) | never)
    return agreed


def _recordings(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete videos and texts of episodes, except those of evaluations on a board."""
    rows = _over(Recording, before).filter(evaluation__is_current=False)
    return sum(_remove_files(rows, field, now, dry_run) for field in RECORDED)


def _rollouts(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete what people watch of rollouts, except of those for the board. What they are judged by stays."""
    rows = _over(Rollout, before).filter(is_ranked=False)
    return sum(_remove_files(rows, field, now, dry_run) for field in WATCHED)


def _images(before: datetime, now: datetime, dry_run: bool) -> int:
    """Clear images of versions replaced by a valid newer one for this long; the builder deletes unnamed images, also in
    the registry.

    Images of versions that still have to play are kept.
    """
    newer = Submission.objects.valid().filter(
        agent=OuterRef("agent"), number__gt=OuterRef("number"), created_at__lt=before, is_benched=False
    )
    replaced = Submission.objects.exclude(image="").filter(Exists(newer), deleted_at=None)
    replaced = replaced.exclude(has_to_play())
    if dry_run:
        return replaced.count()
    # By key, because the update would otherwise read the table that it writes.
    keys = list(replaced.values_list("pk", flat=True))
    rows = Submission.objects.filter(pk__in=keys)
    return rows.update(image="", image_digest="", registry_digest="", image_removed_at=now)


def _sessions(before: datetime, now: datetime, dry_run: bool) -> int:
    rows = Session.objects.filter(expire_date__lt=before)
    if dry_run:
        return rows.count()
    count = rows.delete()[0]
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    return count


def _events(before: datetime, now: datetime, dry_run: bool) -> int:
    rows = AccountEvent.objects.filter(at__lt=before)
    return rows.count() if dry_run else rows.delete()[0]


def _messages(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete django-q's notes on delivered messages, successful or not."""
    rows = Task.objects.filter(stopped__lt=before)
    count: int = rows.count() if dry_run else rows.delete()[0]
    return count


def _ratings(before: datetime, now: datetime, dry_run: bool) -> int:
    """Thin rating histories to the last moment of each day. They can be recomputed from the ledger."""
    return rating_points_thin(before=before, dry_run=dry_run)


def _notices(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete notices that were read or only mailed; unread ones stay for their readers."""
    rows = Notice.objects.filter(Q(read_at__lt=before) | Q(in_inbox=False, created_at__lt=before), mail_next_at=None)
    return rows.count() if dry_run else rows.delete()[0]


def _deliveries(before: datetime, now: datetime, dry_run: bool) -> int:
    rows = Delivery.objects.filter(created_at__lt=before).exclude(state=DeliveryState.WAITING)
    return rows.count() if dry_run else rows.delete()[0]


def _deleted_archives(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete archives whose deletion failed, e.g. because the store did not answer."""
    rows = Submission.objects.filter(deleted_at__lt=before).exclude(archive="")
    if dry_run:
        return sum(may_be_stored(name) for _, name in _named(rows, "archive"))
    count = 0
    for key, name in list(_named(rows, "archive")):
        # Most archives were deleted with their versions and are not counted.
        was_there = may_be_stored(name)
        if _delete(name):
            count += was_there
            Submission.objects.filter(pk=key).update(archive=removed_name(now.date()))
    return count


def _over(model: type[AnyJob], before: datetime) -> QuerySet[AnyJob]:
    return model._base_manager.filter(ended_at__lt=before).exclude(state__in=OPEN).order_by("pk")


def _disputed(kind: str) -> list[int]:
    """Return the keys of jobs of a kind with an open alarm."""
    keys = Alarm.objects.filter(settled_at=None, key__startswith=f"{kind}-").values_list("key", flat=True)
    return [int(found[1]) for key in keys if (found := re.match(rf"{kind}-(\d+)-", key))]


def _named(rows: QuerySet[Row], field: str) -> Iterator[tuple[int, str]]:
    kept = rows.exclude(**{field: ""}).exclude(**{f"{field}__startswith": REMOVED})
    yield from kept.values_list("pk", field)


def _remove_files(rows: QuerySet[AnyJob], field: str, now: datetime, dry_run: bool) -> int:
    count = 0
    for key, name in list(_named(rows, field)):
        count += 1
        if dry_run:
            continue
        # The row first: a file without a row is harmless, a row without its file looks like a loss.
        same = rows.model._base_manager.filter(pk=key, **{field: name})
        if same.update(**{field: removed_name(now.date())}):
            _delete(name)
    return count


def _delete(name: str) -> bool:
    """Delete a file; return False, with a warning, on an error, so that other files are still deleted."""
    try:
        default_storage.delete(name)
    # Each store raises its own errors.
    except Exception as error:
        logger.warning("%s is still in the store: %s: %s", name, type(error).__name__, error)
        return False
    return True
