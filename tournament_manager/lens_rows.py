"""Looks through the lenses at the ledger, and has written down what is seen."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import F

from arena_kit.ranking.lenses import (
    Cycle,
    HeadToHead,
    NashStanding,
    Prediction,
    Tally,
    calibration,
    cycles,
    head_to_head,
    nash_ranking,
    who_beats_whom,
    wilson,
)
from core.links import page
from core.models import Alarm, Audience, Duel, Environment, JobState, Lens, RatingPool
from core.operations.alarms import alarm_raise, alarm_settle
from core.ratings.lenses import lens_save
from core.ratings.pairs import LENS_SIZE, best_ratings, pair_totals

logger = logging.getLogger(__name__)
KEPT_CYCLES = 12
"""The clearest: they are there to be looked at one by one."""
MOST_PREDICTIONS = 50_000
"""The newest: older ones were made by what knew less."""
BINS = 20
DIGITS = 6


def lens_try(environment: Environment) -> None:
    """Refresh a lens; where that fails have organisers called: ratings are there all the same."""
    key = _alarm_key(environment)
    try:
        lens_refresh(environment)
    except Exception:
        logger.exception("The lens of %s cannot be computed.", environment)
        alarm_raise(
            key=key,
            message=f"Who beats whom in {environment} cannot be computed; the log of the tournament worker says why. "
            "Ratings go on. It is tried again with the next ratings, or once this alarm is settled.",
            address=page("lenses_admin"),
        )
    else:
        alarm_settle(key=key)


def lens_follow(environment: Environment, *, fitted_at: datetime) -> None:
    """Refresh a lens that is not of the last fit, e.g. as a worker has died after it; not again where that failed."""
    if Lens.objects.filter(environment=environment, computed_at__gte=fitted_at).exists():
        return
    if not Alarm.objects.filter(key=_alarm_key(environment), settled_at=None).exists():
        lens_try(environment)


def _alarm_key(environment: Environment) -> str:
    return f"lens-of-{environment.slug}"


def lens_refresh(environment: Environment) -> None:
    """Compute who beats whom among the best, and how predictions did, and keep it; ratings have to be there."""
    # Read first: of ratings that come in between this one is not.
    fitted_at, version = RatingPool.objects.values_list("fitted_at", "ledger_version").get(environment=environment)
    ratings = best_ratings(environment, LENS_SIZE)
    keys = [rating.submission_id for rating in ratings]
    totals = pair_totals(environment, keys)
    # Each pair comes from both sides.
    tallies = [
        Tally(row.submission, row.opponent, row.wins, row.draws, row.losses)
        for row in totals
        if row.submission < row.opponent
    ]
    table = head_to_head(keys, tallies)
    level = 1 - 0.05 / max(1, len(tallies))
    circles = cycles(table, level, limit=LENS_SIZE**3)
    judged = calibration(_predictions(environment), bins=BINS)
    lens_save(
        environment=environment,
        nash=[_rounded(asdict(row)) for row in _nash(table, [rating.value for rating in ratings])],
        cycles=[_steps(table, found, level) for found in circles[:KEPT_CYCLES]],
        cycle_count=len(circles),
        pair_count=len(tallies),
        clear_count=int(who_beats_whom(table, level).sum()),
        calibration=None if judged is None else _rounded(asdict(judged)),
        fitted_at=fitted_at,
        ledger_version=version,
    )


def _nash(table: HeadToHead, values: Sequence[float]) -> list[NashStanding]:
    strengths = np.array(values, dtype=float)
    expected = 1 / (1 + 10 ** ((strengths[None, :] - strengths[:, None]) / 400))
    try:
        return nash_ranking(table, expected)
    except ArithmeticError:
        # Ratings must not wait for a second opinion.
        logger.exception("No ranking by Nash averaging was found.")
        return []


def _steps(table: HeadToHead, cycle: Cycle, level: float) -> list[dict[str, Any]]:
    """Who beats whom in a circle, with the share of the points and the lower end of its interval."""
    place = {submission: number for number, submission in enumerate(table.submissions)}
    lower, shares = wilson(table.points, table.matches, level)[0], table.shares
    steps = []
    for winner, loser in zip(cycle.submissions, (*cycle.submissions[1:], cycle.submissions[0]), strict=True):
        cell = place[winner], place[loser]
        figures = {"share": float(shares[cell]), "lower": float(lower[cell]), "matches": int(table.matches[cell])}
        steps.append(_rounded({"winner": winner, "loser": loser, **figures}))
    return steps


def _predictions(environment: Environment) -> Iterator[Prediction]:
    """Duels as they were expected and as they ended, seen from the one who was expected to win."""
    duels = Duel.objects.filter(
        tournament__environment=environment,
        tournament__is_rated=True,
        tournament__results=Audience.PUBLIC,
        state=JobState.SUCCEEDED,
        void__isnull=True,
        expected__isnull=False,
    )
    won, lost = F("player_1_wins") + F("player_2_errors"), F("player_2_wins") + F("player_1_errors")
    rows = duels.order_by("-pk").values_list("player_1_id", "player_2_id", "expected", won, "draws", lost)
    for one, other, expected, wins, draws, losses in rows[:MOST_PREDICTIONS].iterator():
        pair = (min(one, other), max(one, other))
        if expected >= 0.5:
            yield Prediction(pair, expected, wins, draws, losses)
        else:
            yield Prediction(pair, 1 - expected, losses, draws, wins)


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    """The same with fewer digits: what is stored follows from the ledger alone."""
    return {name: _value(value) for name, value in found.items()}


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, tuple):
        return [_rounded(item) for item in value]
    return value
