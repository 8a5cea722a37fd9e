"""Stores ratings that were computed from the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Least, Now

from core.models import Agent, Environment, Rating, RatingPoint, RatingPool, Tournament
from core.ratings.notices import moment_kept
from core.ratings.participants import participants_write

BATCH_SIZE = 500
FITTED = ("value", "low", "high", "rank", "best_rank", "worst_rank", "best_chance", "live", "duel_count", "match_count")
"""The columns of a rating that follow from the ledger."""
KEPT = ("value", "low", "high", "rank", "best_rank", "worst_rank", "live")
"""The columns that a moment of the history stores."""
NOTE_EVERY = timedelta(hours=1)
"""Between the ends of editions, one moment an hour is stored in the history."""


def ratings_replace(
    *, environment: Environment, ratings: Sequence[Rating], pool: RatingPool, ended: Tournament | None = None
) -> int:
    """Replace the ratings and the pool of an environment by these unsaved rows; return how many ratings differ.

    ended: an edition that ends with these ratings. They are then also stored with its participants and as a moment of
    the history, in the same transaction, so that both belong to one fit. New and deleted ratings count as differing.
    """
    rows = Rating.objects.filter(submission__agent__environment=environment)
    columns = (
        "mean",
        "spread",
        "first_seat",
        "first_seat_low",
        "first_seat_high",
        "is_connected",
        "duel_count",
        "ledger_version",
        "fitted_at",
        "fit_seconds",
        "failed_at",
    )
    figures = {name: getattr(pool, name) for name in columns}
    with transaction.atomic():
        # First, so that of two workers with new ratings one waits here.
        RatingPool.objects.update_or_create(environment=environment, defaults=figures)
        before = {row.pop("submission_id"): row for row in rows.values("submission_id", *FITTED)}
        after = {row.submission_id: {name: getattr(row, name) for name in FITTED} for row in ratings}
        rows.filter(submission_id__in=before.keys() - after.keys()).delete()
        Rating.objects.bulk_create(
            ratings,
            update_conflicts=True,
            unique_fields=["submission"],
            update_fields=[*FITTED, "updated_at"],
            batch_size=BATCH_SIZE,
        )
        if ended is not None:
            _keep(ended, ratings)
            _note(environment, pool.fitted_at, ratings)
    return sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())


def ratings_failed(*, environment: Environment) -> None:
    """Note that a fit has failed, so that the next attempt waits."""
    RatingPool.objects.filter(environment=environment).update(failed_at=Now())


def rank_give_up(*, agent: Agent) -> None:
    """Take the rank of an agent that plays no more once this transaction is committed; those below it move up.

    The next fit, which may be minutes away, would do the same. It waits for the commit, because a fit locks the pool
    before participants, and those who hide an agent the other way round.
    """
    transaction.on_commit(partial(_leave_board, agent), robust=True)


def _leave_board(agent: Agent) -> None:
    with transaction.atomic():
        # Locks the pool, changes the version of kept pages, and calls for a fit of chances and likely ranks.
        RatingPool.objects.filter(environment=agent.environment_id).update(ledger_version=0)
        board = Rating.objects.filter(submission__agent__environment=agent.environment_id, rank__isnull=False)
        own = board.filter(submission__agent=agent)
        for row in own:
            board.filter(rank__gt=row.rank).update(
                rank=F("rank") - 1,
                best_rank=Least(F("best_rank"), F("rank") - 1),
                worst_rank=F("worst_rank") - 1,
            )
        own.update(rank=None, best_rank=None, worst_rank=None, best_chance=None)
        board.filter(worst_rank__gt=(size := board.count())).update(worst_rank=size)


def ratings_note(*, environment: Environment, at: datetime) -> int:
    """Store the leaderboard as a moment of its history, unless the last moment is younger than NOTE_EVERY.

    at: now. The moment is that of the last fit, so without a new fit nothing is stored. Return how many agents it has.
    """
    pools = RatingPool.objects.filter(environment=environment)
    # Called after every duel and mostly without anything to do, so checked first without a lock.
    if not _is_to_note(pools.first(), at):
        return 0
    with transaction.atomic():
        # Locked, so that no fit intervenes.
        pool = pools.select_for_update(no_key=True).first()
        if pool is None or not _is_to_note(pool, at):
            return 0
        ratings = Rating.objects.filter(submission__agent__environment=environment, rank__isnull=False)
        return _note(environment, pool.fitted_at, list(ratings.order_by("pk")))


def moment_notify(*, environment: Environment) -> bool:
    """Send the notices of the last moment of the history once; return whether this call has sent it.

    This is not part of the transaction that stores ratings, so that ratings do not depend on notices or wait for them.
    If a worker dies before, the next one sends the notices.
    """
    last = RatingPoint.objects.filter(environment=environment).aggregate(last=Max("at"))["last"]
    if last is None:
        return False
    pools = RatingPool.objects.filter(Q(told_at=None) | Q(told_at__lt=last), environment=environment)
    # Called after every result and mostly without any notice, so checked first without a transaction.
    if not pools.exists():
        return False
    with transaction.atomic():
        is_first = bool(pools.update(told_at=last))
        if is_first:
            moment_kept(environment, last)
    return is_first


def _is_to_note(pool: RatingPool | None, at: datetime) -> bool:
    if pool is None:
        return False
    last = RatingPoint.objects.filter(environment=pool.environment_id).aggregate(last=Max("at"))["last"]
    return last is None or (pool.fitted_at > last and at >= last + NOTE_EVERY)


def _note(environment: Environment, at: datetime, ratings: Sequence[Rating]) -> int:
    points = [
        RatingPoint(
            environment=environment,
            submission_id=row.submission_id,
            at=at,
            **{name: getattr(row, name) for name in KEPT},
        )
        for row in ratings
        if row.rank is not None
    ]
    # Two workers that end the same edition may have read the ledger at the same moment.
    RatingPoint.objects.bulk_create(points, ignore_conflicts=True, batch_size=BATCH_SIZE)
    return len(points)


def ratings_keep(*, tournament: Tournament) -> None:
    """Store the ratings of a running tournament's participants with them: new rules begin without any."""
    _keep(tournament, list(Rating.objects.filter(submission__participations__tournament=tournament)))


def _keep(tournament: Tournament, ratings: Sequence[Rating]) -> None:
    """Store the ratings at the end of an edition with its participants."""
    values = {row.submission_id: (row.value, row.low, row.high) for row in ratings}
    participants = list(tournament.participants.all())
    for row in participants:
        row.rating, row.rating_low, row.rating_high = values.get(row.submission_id, (None, None, None))
    participants_write(participants=participants, fields=["rating", "rating_low", "rating_high"])


def rating_points_replace(*, changed: Sequence[RatingPoint], gone: Sequence[RatingPoint]) -> None:
    """Write changed points of the history, and delete others."""
    with transaction.atomic():
        RatingPoint.objects.filter(pk__in=[row.pk for row in gone]).delete()
        RatingPoint.objects.bulk_update(changed, KEPT, batch_size=BATCH_SIZE)


def rating_points_thin(*, before: datetime, dry_run: bool = False) -> int:
    """Keep only the last moment of each day and environment before this one; return how many points are deleted.

    Moments are deleted as a whole, so that the rest are leaderboards as they were shown.
    """
    moments = RatingPoint.objects.filter(at__lt=before).order_by("environment", "at")
    days: dict[tuple[int, date], list[datetime]] = defaultdict(list)
    for environment, at in moments.values_list("environment", "at").distinct():
        days[environment, at.astimezone(UTC).date()].append(at)
    count = 0
    for (environment, _), (*spare, _last) in days.items():
        for begun in range(0, len(spare), BATCH_SIZE):
            rows = RatingPoint.objects.filter(environment=environment, at__in=spare[begun : begun + BATCH_SIZE])
            count += rows.count() if dry_run else rows.delete()[0]
    return count
