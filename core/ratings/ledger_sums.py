"""Stores sums of the ledger. Callers of all functions hold the row of the sums."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, F, Max, When
from django.utils import timezone

from core.models import Environment, LedgerSums, LiveCheckpoint, LiveRating, PairTotal, Rating

BATCH_SIZE = 500
PAIR_COLUMNS = ("wins", "draws", "losses", "duel_count", "latest_duel")


@dataclass(slots=True)
class PairSum:
    """Matches of two submissions with the same one in the first seat, and duels in which it was player_1."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    duel_count: int = 0
    latest_duel: int = 0


Pairs = Mapping[tuple[int, int], PairSum]
"""By (submission in the first seat, its opponent)."""
Live = Mapping[int, tuple[float, int]]
"""Elo and the duels behind it, by submission."""


def sums_lock(environment: Environment) -> LedgerSums:
    """The sums of an environment's ledger, locked until the end of the transaction."""
    rows = LedgerSums.objects.select_for_update(of=("self",), no_key=True)
    found = rows.filter(environment=environment).first()
    if found is None:
        LedgerSums.objects.bulk_create([LedgerSums(environment=environment)], ignore_conflicts=True)
        found = rows.get(environment=environment)
    return found


def sums_save(
    *, sums: LedgerSums, version: int, is_rated: bool, is_rewritten: bool, last_result_at: datetime | None
) -> None:
    """Store the version of the sums. is_rated: rated results came in or changed. is_rewritten: some were struck."""
    sums.version = version
    if is_rated:
        sums.rated_version = version
    if is_rewritten:
        sums.rewritten_version = version
    sums.last_result_at = last_result_at
    sums.save()


def pairs_add(*, environment: Environment, pairs: Pairs) -> None:
    """Add to the pair totals of an environment."""
    first, second = {key for key, _ in pairs}, {key for _, key in pairs}
    there = PairTotal.objects.filter(first__in=first, second__in=second)
    rows = {(row.first_id, row.second_id): row for row in there}
    changed, new = [], []
    for key, more in pairs.items():
        row = rows.get(key)
        if row is None:
            new.append(_pair(environment, key, more))
            continue
        for name in PAIR_COLUMNS[:-1]:
            setattr(row, name, getattr(row, name) + getattr(more, name))
        row.latest_duel = max(row.latest_duel, more.latest_duel)
        changed.append(row)
    PairTotal.objects.bulk_create(new, batch_size=BATCH_SIZE)
    PairTotal.objects.bulk_update(changed, PAIR_COLUMNS, batch_size=BATCH_SIZE)


def pairs_replace(*, environment: Environment, pairs: Pairs, among: Collection[frozenset[int]] | None = None) -> None:
    """Replace the pair totals of an environment. among: replace only those of these pairs; None: all."""
    rows = PairTotal.objects.filter(environment=environment)
    if among is None:
        rows.delete()
    else:
        players = {player for pair in among for player in pair}
        found = rows.filter(first__in=players, second__in=players).values_list("pk", "first", "second")
        old = [key for key, first, second in found if frozenset((first, second)) in among]
        PairTotal.objects.filter(pk__in=old).delete()
    PairTotal.objects.bulk_create(
        (_pair(environment, key, total) for key, total in sorted(pairs.items())), batch_size=BATCH_SIZE
    )


def live_save(*, values: Live, digits: int) -> None:
    """Write live ratings, and copy them, rounded, to the official ratings of submissions that have one."""
    rows = [LiveRating(submission_id=key, value=value, duel_count=count) for key, (value, count) in values.items()]
    LiveRating.objects.bulk_create(
        sorted(rows, key=lambda row: row.submission_id),
        update_conflicts=True,
        unique_fields=["submission"],
        update_fields=["value", "duel_count"],
        batch_size=BATCH_SIZE,
    )
    shown = dict(Rating.objects.filter(submission__in=values).values_list("submission_id", "live"))
    moved = {key: round(values[key][0], digits) for key, live in shown.items() if live != round(values[key][0], digits)}
    if moved:
        cases = (When(submission=key, then=value) for key, value in moved.items())
        Rating.objects.filter(submission__in=moved).update(
            live=Case(*cases, default=F("live")), updated_at=timezone.now()
        )


def live_replace(*, environment: Environment, values: Live, digits: int) -> None:
    """Replace all live ratings of an environment."""
    LiveRating.objects.filter(submission__agent__environment=environment).exclude(submission__in=values).delete()
    live_save(values=values, digits=digits)


def checkpoint_save(*, sums: LedgerSums, version: int, values: Live) -> None:
    """Store live ratings as they are after a version of the ledger, so that a later strike can begin there."""
    LiveCheckpoint.objects.bulk_create(
        (
            LiveCheckpoint(
                environment_id=sums.environment_id, version=version, submission_id=key, value=value, duel_count=count
            )
            for key, (value, count) in sorted(values.items())
        ),
        batch_size=BATCH_SIZE,
    )
    sums.checkpoint_version = version


def checkpoint_restore(*, sums: LedgerSums, before: int) -> Live:
    """Return the live ratings of the newest checkpoint older than a version, and delete all that are not older.

    Without such a checkpoint it is empty and `sums.checkpoint_version` is 0: every rating begins at the first result.
    """
    rows = LiveCheckpoint.objects.filter(environment=sums.environment_id)
    rows.filter(version__gte=before).delete()
    sums.checkpoint_version = rows.aggregate(last=Max("version"))["last"] or 0
    found = rows.filter(version=sums.checkpoint_version).values_list("submission_id", "value", "duel_count")
    return {key: (value, count) for key, value, count in found}


def _pair(environment: Environment, key: tuple[int, int], total: PairSum) -> PairTotal:
    first, second = key
    return PairTotal(
        environment=environment,
        first_id=first,
        second_id=second,
        **{name: getattr(total, name) for name in PAIR_COLUMNS},
    )
