"""Fits and stores official ratings; `follow` updates everything that changes with each result."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from arena_kit.ranking.elo import START, rate
from arena_kit.ranking.rating import MEAN, Anchor, RatingFit, Seating, fit_ratings, pool_of, ranking, within
from core.editions.follow import follow
from core.editions.lens import lens_follow, lens_try
from core.editions.results import played, rated, results_of
from core.editions.sums import DIGITS, pair_sums
from core.evaluations.episodes import spec_or_none
from core.models import (
    Environment,
    LedgerEntry,
    LedgerSums,
    LiveRating,
    PairTotal,
    Rating,
    RatingPool,
    Submission,
    Tournament,
)
from core.ratings.ledger_sums import sums_lock
from core.ratings.services import ratings_replace

FIT_EVERY = timedelta(minutes=2)
"""The shortest time between two fits that new results call for: a fit of the largest pools takes seconds."""
FOUNDERS = 2
"""The number of versions that hold the scale of an environment whose reference has not played."""
FIT_PAUSE = 20
"""The next fit waits this many times as long as the last one took, so that fits use at most a twentieth of the time."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Ratings and pool that follow from the ledger, as unsaved rows."""

    ratings: list[Rating]
    pool: RatingPool


@dataclass(frozen=True, slots=True)
class PairRow:
    """Matches of two submissions with the same one in the first seat, and duels in which it was player_1."""

    first: int
    second: int
    wins: int
    draws: int
    losses: int
    duel_count: int
    latest_duel: int

    @property
    def seating(self) -> Seating:
        """The sums as one duel, which a fit treats like several."""
        return self.latest_duel, self.first, self.second, self.wins, self.draws, self.losses


def ratings_refresh(environment: Environment, *, ended: Tournament | None = None) -> int:
    """Fit all ratings of an environment anew; return how many of them changed.

    ended: an edition that ends with these ratings. The result depends on the ledger alone, so the fit does not start
    from earlier ratings, which would change the last digits. It reads the totals of pairs, so its cost does not grow
    with the length of the history.
    """
    started = time.perf_counter()
    follow(environment)
    found = compute(environment)
    found.pool.fit_seconds = time.perf_counter() - started
    with transaction.atomic():
        # Live ratings may have changed during the fit; now they are locked.
        sums_lock(environment)
        live = _live(environment)
        for row in found.ratings:
            row.live = round(live.get(row.submission_id, START), DIGITS)
        changed = ratings_replace(environment=environment, ratings=found.ratings, pool=found.pool, ended=ended)
    lens_try(environment)
    return changed


def compute(environment: Environment, *, at: datetime | None = None, among: Collection[int] | None = None) -> Computed:
    """All ratings of an environment, from the current totals of pairs or from the ledger at a moment of the past.

    among: the submissions that get a rank if they have played. By default those that have one now, or, at a moment of
    the past, the newest version of every agent that had played, because nothing records which could play then.
    """
    if at is None:
        with transaction.atomic():
            sums = sums_lock(environment)
            pairs, live = _pairs(environment), _live(environment)
        # A worker's clock may be ahead of the database's, and no result may be later than the moment of the fit.
        clock = Environment.objects.annotate(now=Now()).get(pk=environment.pk).now
        fitted_at = max(clock, sums.last_result_at or clock)
        version = sums.version
        chosen = _ranked(environment) if among is None else set(among)
    else:
        rows = rated(environment, at=at)
        found = list(played(rows))
        pairs = [
            PairRow(*key, total.wins, total.draws, total.losses, total.duel_count, total.latest_duel)
            for key, total in pair_sums(found).items()
        ]
        live = {key: estimate.value for key, estimate in rate(results_of(found)).items()}
        fitted_at, version = at, 0
        chosen = _newest(environment, rows) if among is None else set(among)
    seatings = [row.seating for row in pairs if row.wins + row.draws + row.losses]
    have_played = {key for row in pairs for key in (row.first, row.second)}
    # Submissions without results have no rank.
    chosen &= have_played
    anchor = _anchor(environment, have_played)
    pool = pool_of(seatings, always=chosen | anchor.submissions)
    fitted = fit_ratings(
        within(seatings, pool),
        submissions=pool,
        predecessors=_predecessors(environment),
        anchor=anchor if anchor.submissions else None,
    )
    duels = sum(row.duel_count for row in pairs)
    return Computed(
        _rows(fitted, live, chosen, _duel_counts(pairs, pool)),
        _pool(fitted, duel_count=duels, version=version, fitted_at=fitted_at),
    )


def ratings_follow(environment: Environment, *, now: datetime) -> bool:
    """Fit the official ratings if they are due; return whether they were fitted.

    They are due after a pause since the last fit if other results count; after a shorter one, twenty times as long as
    that fit took, if other submissions have a rank, as when an agent is hidden; and at once after a strike. A
    submission that plays for the first time has no rating before the next fit.
    """
    pool = RatingPool.objects.filter(environment=environment).first()
    sums = LedgerSums.objects.filter(environment=environment).first()
    is_struck = pool is not None and sums is not None and sums.rewritten_version > pool.ledger_version
    is_due = pool is None or _is_due(pool, sums, now) or (is_struck and not pool.failed_at)
    if is_due and _is_worth_asking(pool, sums, now) and ratings_are_outdated(environment):
        ratings_refresh(environment)
        return True
    if pool is not None:
        lens_follow(environment, fitted_at=pool.fitted_at)
    return False


def _is_worth_asking(pool: RatingPool | None, sums: LedgerSums | None, now: datetime) -> bool:
    """Return whether to ask if ratings are outdated, which may read all submissions of the environment.

    The ledger's version answers where rated results came in. Results that do not count for ratings, e.g. of a
    tournament whose results are hidden, change the version without changing ranks, so after these the question waits
    until FIT_EVERY has passed since the last one.
    """
    if pool is None or sums is None or sums.rated_version > pool.ledger_version:
        return True
    if sums.version == pool.looked_version:
        return True
    if pool.looked_at is not None and now < pool.looked_at + FIT_EVERY:
        return False
    RatingPool.objects.filter(pk=pool.pk).update(looked_at=now, looked_version=sums.version)
    return True


def _anchor(environment: Environment, have_played: Collection[int]) -> Anchor:
    """The scale hangs on the environment's reference if it has played, otherwise on its oldest versions.

    Both follow from the ledger alone and stay the same whatever is played later.
    """
    if (spec := spec_or_none(environment.spec_id)) is not None:
        twins = Submission.objects.filter(
            agent__environment=environment, archive_sha256__in=spec.reference.sha256, live_rating__isnull=False
        )
        for key in twins.order_by("pk").values_list("pk", flat=True):
            if key in have_played:
                return Anchor(frozenset((key,)), spec.reference.rating)
    return Anchor(frozenset(sorted(have_played)[:FOUNDERS]), MEAN)


def _is_due(pool: RatingPool, sums: LedgerSums | None, now: datetime) -> bool:
    pause = FIT_PAUSE * timedelta(seconds=pool.fit_seconds)
    # A pool of version 0 waits for no results: an agent has left the board.
    if pool.failed_at or (sums is not None and sums.rated_version > pool.ledger_version > 0):
        pause = max(FIT_EVERY, pause)
    return now >= max(pool.fitted_at, pool.failed_at or pool.fitted_at) + pause


def _pairs(environment: Environment) -> list[PairRow]:
    columns = ("first", "second", "wins", "draws", "losses", "duel_count", "latest_duel")
    rows = PairTotal.objects.filter(environment=environment).order_by("first", "second")
    return [PairRow(*row) for row in rows.values_list(*columns)]


def _live(environment: Environment) -> dict[int, float]:
    rows = LiveRating.objects.filter(submission__agent__environment=environment)
    return dict(rows.values_list("submission_id", "value"))


def _duel_counts(pairs: Iterable[PairRow], pool: Collection[int]) -> dict[int, int]:
    """The number of duels of each submission of a pool within the pool."""
    counts: dict[int, int] = defaultdict(int)
    for row in pairs:
        if row.first in pool and row.second in pool:
            counts[row.first] += row.duel_count
            counts[row.second] += row.duel_count
    return counts


def _rows(
    fitted: RatingFit, live: Mapping[int, float], ranked: Collection[int], duel_counts: Mapping[int, int]
) -> list[Rating]:
    """A rating of each fitted submission, with a rank for the ranked ones."""
    places = {place.submission: place for place in ranking(fitted, among=ranked)}
    rows = []
    for index, submission in enumerate(fitted.submissions):
        rating, place = fitted.interval(index), places.get(submission)
        rows.append(
            Rating(
                submission_id=submission,
                value=round(rating.value, DIGITS),
                low=round(rating.low, DIGITS),
                high=round(rating.high, DIGITS),
                rank=place.rank if place else None,
                best_rank=place.best_rank if place else None,
                worst_rank=place.worst_rank if place else None,
                best_chance=place.chance if place else None,
                live=round(live.get(submission, START), DIGITS),
                duel_count=duel_counts.get(submission, 0),
                match_count=int(fitted.match_counts[index]),
            )
        )
    return rows


def _pool(fitted: RatingFit, *, duel_count: int, version: int, fitted_at: datetime) -> RatingPool:
    assert fitted.first_seat is not None
    return RatingPool(
        mean=round(fitted.pool_mean, DIGITS),
        spread=round(fitted.pool_spread, DIGITS),
        first_seat=round(fitted.first_seat.value, DIGITS),
        first_seat_low=round(fitted.first_seat.low, DIGITS),
        first_seat_high=round(fitted.first_seat.high, DIGITS),
        is_connected=fitted.is_connected,
        duel_count=duel_count,
        ledger_version=version,
        fitted_at=fitted_at,
    )


def _predecessors(environment: Environment) -> dict[int, int]:
    """The previous version, by submission."""
    versions = defaultdict(list)
    rows = Submission.objects.filter(agent__environment=environment).order_by("agent_id", "number")
    for agent, submission in rows.values_list("agent_id", "pk"):
        versions[agent].append(submission)
    return {later: earlier for line in versions.values() for earlier, later in pairwise(line)}


def _ranked(environment: Environment) -> set[int]:
    """The ranked submissions: of every agent that may play and is not hidden, the newest version that has played."""
    able = Submission.objects.active().filter(agent__environment=environment)
    have_played = able.filter(live_rating__isnull=False).order_by("agent_id", "number")
    return set(dict(have_played.values_list("agent_id", "pk")).values())


def _newest(environment: Environment, rows: QuerySet[LedgerEntry]) -> set[int]:
    """The newest version of every agent that is in the rows."""
    have_played = Submission.objects.filter(
        Exists(rows.filter(submission=OuterRef("pk"))), agent__environment=environment
    )
    return set(dict(have_played.order_by("agent_id", "number").values_list("agent_id", "pk")).values())


def ratings_are_outdated(environment: Environment) -> bool:
    """Return whether other results count now than in the last fit, or other submissions have a rank."""
    pool = RatingPool.objects.filter(environment=environment).first()
    sums = LedgerSums.objects.filter(environment=environment).first()
    ratings = Rating.objects.filter(submission__agent__environment=environment)
    if pool is None:
        has_played = LiveRating.objects.filter(submission__agent__environment=environment)
        return has_played.exists() or ratings.exists()
    if sums is not None and sums.rated_version > pool.ledger_version:
        return True
    return _ranked(environment) != set(ratings.filter(rank__isnull=False).values_list("submission_id", flat=True))
