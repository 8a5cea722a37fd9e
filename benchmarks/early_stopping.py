"""What stopping duels early saves, and how it affects ratings: matches, errors, shift to the extremes.

The truth is simulated: 20 agents with normal strengths of standard deviation 120 points, one duel per pair, results by
the Bradley-Terry model. The same duels are rated in full, stopped by an environment's symmetric test, and cut to one
common length that takes as many matches in total. The slope is that of the fitted ratings over the true strengths: 1
if they are neither drawn to the mean nor pushed to the extremes.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena_kit.ranking.bradley_terry import Floats, Integers
from arena_kit.ranking.rating import Seating, fit_ratings
from arena_kit.ranking.sequential import SequentialTest, walk
from benchmarks.common import circumstances, say, text_table, write_json
from benchmarks.ratings import AGENTS, SPREAD, rows

BOUND = 50.0
"""Bound of the test in normalised Elo: it decides between -BOUND and BOUND."""
WAYS = ("whole", "stopped", "cut")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.early_stopping", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with rougher figures")
    parser.add_argument("--matches", type=int, nargs="+", default=[20, 50, 200], help="of a duel (default 20 50 200)")
    parser.add_argument("--seasons", type=int, default=200, help="simulated for every figure (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default 1)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seasons = min(options.seasons, 20)
    found = {}
    for matches in options.matches:
        say(f"duels of {matches} matches")
        found[str(matches)] = compare(matches // 2, options.seasons, options.seed)
    report = {"by_matches": found, **circumstances(options)}
    print(table(report))
    write_json(options.json, report)
    return 0


def compare(pairs: int, seasons: int, seed: int) -> dict[str, dict[str, float]]:
    """Return by way of playing: mean matches per duel, slope, root mean square error in points, and coverage."""
    generator = np.random.default_rng((seed, pairs))
    met = np.array(list(itertools.combinations(range(AGENTS), 2)))
    test = SequentialTest(-BOUND, BOUND, cap=pairs)
    lengths: dict[str, list[float]] = {way: [] for way in WAYS}
    values: dict[str, list[Floats]] = {way: [] for way in WAYS}
    held: dict[str, list[float]] = {way: [] for way in WAYS}
    truths = []
    for _ in range(seasons):
        truth = generator.normal(0.0, SPREAD, AGENTS)
        truth -= truth.mean()
        truths.append(truth)
        chance = 1 / (1 + 10 ** ((truth[met[:, 1]] - truth[met[:, 0]]) / 400))
        won = generator.random((len(met), pairs, 2)) < chance[:, None, None]
        states, _, _ = walk(test, 2 * won.sum(axis=2))
        decided = np.where((states != 0).any(axis=1), (states != 0).argmax(axis=1) + 1, pairs)
        cut = np.full(len(met), max(1, round(float(decided.mean()))))
        for way, played in zip(WAYS, (np.full(len(met), pairs), decided, cut), strict=True):
            fitted = fit_ratings(_seatings(met, won, played))
            off = fitted.values - 1500.0 - truth
            half = np.array([fitted.interval(n).high - fitted.values[n] for n in range(AGENTS)])
            lengths[way].append(2 * float(played.mean()))
            values[way].append(fitted.values - 1500.0)
            held[way].append(float(np.mean(np.abs(off) < half)))
    known = np.array(truths)
    return {
        way: {
            "matches": round(float(np.mean(lengths[way])), 1),
            "slope": round(float((np.array(values[way]) * known).sum() / (known**2).sum()), 3),
            "rmse": round(float(np.sqrt(((np.array(values[way]) - known) ** 2).mean())), 1),
            "coverage_95": round(float(np.mean(held[way])), 3),
        }
        for way in WAYS
    }


def _seatings(met: Integers, won: np.ndarray[Any, Any], played: Integers) -> list[Seating]:
    """Return ledger rows of duels with this many pairs, one for each seat of the first player."""
    within = np.arange(won.shape[1])[None, :] < played[:, None]
    duel = np.arange(len(met))
    found: list[Seating] = []
    for seat in (0, 1):
        wins = (won[:, :, seat] & within).sum(axis=1)
        first, second = met[:, seat], met[:, 1 - seat]
        of_first, of_second = (wins, played - wins) if seat == 0 else (played - wins, wins)
        found += rows(duel, first, second, of_first, of_second)
    return found


def table(report: dict[str, Any]) -> str:
    """Return the figures as a table."""
    lines = [
        [
            matches,
            way,
            f"{row['matches']:.1f}",
            f"{row['slope']:.3f}",
            f"{row['rmse']:.1f}",
            f"{row['coverage_95']:.1%}",
        ]
        for matches, ways in report["by_matches"].items()
        for way, row in ways.items()
    ]
    return text_table(["matches", "played", "of them", "slope", "error", "intervals"], lines)


if __name__ == "__main__":
    raise SystemExit(main())
