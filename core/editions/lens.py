"""Computes the lens of an environment from its ledger: who beats whom, and whether predictions came true."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from django.db.models import F

from arena_kit.ranking.calibration import Prediction, calibration
from arena_kit.ranking.lenses import HeadToHead, Tally, cycle_steps, cycles, head_to_head, who_beats_whom
from arena_kit.ranking.nash import NashStanding, nash_ranking
from core.links import page
from core.models import Alarm, Environment, Lens, RatingPool
from core.notices.alarms import alarm_raise, alarm_settle
from core.ratings.lenses import lens_save
from core.ratings.pairs import LENS_SIZE, best_ratings, pair_totals, rated_duels

logger = logging.getLogger(__name__)
KEPT_CYCLES = 12
"""How many cycles are stored, the clearest first: readers look at them one by one."""
MOST_PREDICTIONS = 50_000
"""How many predictions are judged, the newest first: older ones were made from fewer results."""
BINS = 20


def lens_try(environment: Environment) -> None:
    """Refresh a lens; raise an alarm for organisers if that fails. Ratings do not depend on it."""
    key = _alarm_key(environment)
    try:
        lens_refresh(environment)
    except Exception:
        logger.exception("The lens of %s cannot be computed.", environment)
        alarm_raise(
            key=key,
            message=f"Who beats whom in {environment} cannot be computed; the log of the tournament worker says why. "
            "Ratings are not affected. The arena tries again with the next ratings, or once this alarm is settled.",
            address=page("lenses"),
        )
    else:
        alarm_settle(key=key)


def lens_follow(environment: Environment, *, fitted_at: datetime) -> None:
    """Refresh a lens that is older than the last fit, e.g. because a worker died, unless an alarm reports that."""
    if Lens.objects.filter(environment=environment, computed_at__gte=fitted_at).exists():
        return
    if not Alarm.objects.filter(key=_alarm_key(environment), settled_at=None).exists():
        lens_try(environment)


def _alarm_key(environment: Environment) -> str:
    return f"lens-of-{environment.slug}"


def lens_refresh(environment: Environment) -> None:
    """Compute and store who beats whom among the best, and how predictions did. The environment must have ratings."""
    # Read first, so that ratings fitted in the meantime make this lens out of date.
    fitted_at, version = RatingPool.objects.values_list("fitted_at", "ledger_version").get(environment=environment)
    ratings = best_ratings(environment, LENS_SIZE)
    keys = [rating.submission_id for rating in ratings]
    totals = pair_totals(environment, keys)
    # Totals list each pair from both sides.
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
        nash=_nash(table, [rating.value for rating in ratings]),
        cycles=[cycle_steps(table, found, level) for found in circles[:KEPT_CYCLES]],
        cycle_count=len(circles),
        pair_count=len(tallies),
        clear_count=int(who_beats_whom(table, level).sum()),
        calibration=judged,
        fitted_at=fitted_at,
        ledger_version=version,
    )


def _nash(table: HeadToHead, values: Sequence[float]) -> list[NashStanding]:
    strengths = np.array(values, dtype=float)
    expected = 1 / (1 + 10 ** ((strengths[None, :] - strengths[:, None]) / 400))
    try:
        return nash_ranking(table, expected)
    except ArithmeticError:
        # The rest of the lens does not depend on this ranking.
        logger.exception("No ranking by Nash averaging was found.")
        return []


def _predictions(environment: Environment) -> Iterator[Prediction]:
    """Predictions and results of duels, seen from the player who was expected to win."""
    duels = rated_duels(environment).filter(expected__isnull=False)
    won, lost = F("player_1_wins") + F("player_2_errors"), F("player_2_wins") + F("player_1_errors")
    rows = duels.order_by("-pk").values_list("player_1_id", "player_2_id", "expected", won, "draws", lost)
    for one, other, expected, wins, draws, losses in rows[:MOST_PREDICTIONS].iterator():
        pair = (min(one, other), max(one, other))
        if expected >= 0.5:
            yield Prediction(pair, expected, wins, draws, losses)
        else:
            yield Prediction(pair, 1 - expected, losses, draws, wins)
