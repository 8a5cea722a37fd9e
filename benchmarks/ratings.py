"""How accurate ratings are and what they cost: errors compared with Elo, coverage of intervals, seconds of a refit.

The truth is simulated: 20 agents with normal strengths of standard deviation 120 points, all pairs meet, results by
the Bradley-Terry model, matches in random order. Errors are root mean squares over agents and seasons, after 19, 38,
95, 190 and 570 games per agent. Intervals should contain the truth in 95 of 100 cases, also if players without
randomness repeat the same matches in every edition. A refit rates and ranks all submissions from the ledger's rows in a
separate process; every match has its own row, two per duel.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena_kit.ranking.bradley_terry import Floats, Integers
from arena_kit.ranking.rating import POINTS, Seating, fit_ratings, pool_of, ranking, within
from benchmarks.common import circumstances, say, text_table, write_json

ROOT = Path(__file__).resolve().parent.parent
AGENTS = 20
SPREAD = 120.0
"""Standard deviation of the agents' strengths in points."""
GAMES = (19, 38, 95, 190, 570)
"""Games per agent: one or more full rounds of all pairs."""
STEPS = (8, 24, 32)
"""Values of Elo's K."""
REPEATED = 10
"""How often players without randomness repeat the same two matches: once in every edition."""
LOADS = (
    (1000, 500_000), (250, 500_000), (500, 500_000), (2000, 500_000), (1000, 125_000), (1000, 1_000_000),
    (5000, 500_000, 250),
)  # fmt: skip
"""Submissions and matches of refits, and how many are ranked (all by default). The first should take five seconds."""
QUICK_LOADS = ((100, 5_000), (200, 5_000), (100, 10_000), (2000, 20_000, 100))
Report = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print tables and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratings", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with rougher figures")
    parser.add_argument("--seasons", type=int, default=400, help="simulated for every figure (default 400)")
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default 1)")
    parser.add_argument("--refit-here", type=int, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.refit_here:
        print(json.dumps(refit(*options.refit_here)))
        return 0
    if options.quick:
        options.seasons = min(options.seasons, 40)
    errors = {games: season_errors(games, options.seasons, options.seed) for games in GAMES}
    say("matches that repeat themselves")
    repeated = repeated_coverage(options.seasons, options.seed)
    refits = [_refit_in_a_process(*load) for load in (QUICK_LOADS if options.quick else LOADS)]
    report = {**summarise(errors, repeated, refits), **circumstances(options)}
    print(table(report))
    write_json(options.json, report)
    return 0


def season_errors(games: int, seasons: int, seed: int) -> Mapping[str, float]:
    """Return the root mean square error of each rating in points, and the share of 95% intervals with the truth."""
    say(f"{games} games each")
    generator = np.random.default_rng((seed, games))
    # Seats change every round; two matches of a pair make a duel.
    pairs = np.array(list(itertools.combinations(range(AGENTS), 2)))
    rounds = games // (AGENTS - 1)
    met = np.concatenate([pairs[:, :: 1 if number % 2 == 0 else -1] for number in range(rounds)])
    duel = np.concatenate([np.arange(len(pairs)) + len(pairs) * (number // 2) for number in range(rounds)])
    truth = generator.normal(0.0, SPREAD, (seasons, AGENTS))
    truth -= truth.mean(axis=1, keepdims=True)
    won = generator.random((seasons, len(met))) < 1 / (1 + 10 ** ((truth[:, met[:, 1]] - truth[:, met[:, 0]]) / 400))
    orders = generator.permuted(np.tile(np.arange(len(met)), (seasons, 1)), axis=1)
    found = {f"elo_{k}": _elo(k, met[orders], np.take_along_axis(won, orders, axis=1)) for k in STEPS}
    squares = {name: (values - truth) ** 2 for name, values in found.items()}
    held, fitted = [], []
    for season in range(seasons):
        wins = won[season].astype(np.int64)
        rating = fit_ratings(rows(duel, met[:, 0], met[:, 1], wins, 1 - wins))
        error = rating.values - 1500.0 - truth[season]
        held.append(np.abs(error) < [rating.interval(n).high - rating.values[n] for n in range(AGENTS)])
        fitted.append(error**2)
    squares["rating"] = np.array(fitted)
    return {**{name: math.sqrt(square.mean()) for name, square in squares.items()}, "coverage": float(np.mean(held))}


def _elo(k: int, met: Integers, won: np.ndarray) -> Floats:
    """Rate by Elo with constant K around 0, all seasons at once. met: seasons x matches x 2; won: by the first."""
    values, seasons = np.zeros((len(met), AGENTS)), np.arange(len(met))
    for number in range(met.shape[1]):
        one, other = met[:, number].T
        ahead = values[seasons, one] - values[seasons, other]
        change = k * (won[:, number] - 1 / (1 + 10 ** (-ahead / 400)))
        values[seasons, one] += change
        values[seasons, other] -= change
    return values


def repeated_coverage(seasons: int, seed: int) -> float:
    """Return the coverage if the two matches of a pair, one from each seat, are repeated REPEATED times unchanged."""
    generator = np.random.default_rng((seed, 0))
    pairs = np.array(list(itertools.combinations(range(AGENTS), 2)))
    met = np.concatenate([pairs, pairs[:, ::-1]] * REPEATED)
    duel = np.concatenate([np.tile(np.arange(len(pairs)) + len(pairs) * n, 2) for n in range(REPEATED)])
    held = 0.0
    for _ in range(seasons):
        truth = generator.normal(0.0, SPREAD, AGENTS)
        truth -= truth.mean()
        ahead = (truth[met[:, 0]] - truth[met[:, 1]])[: 2 * len(pairs)]
        wins = np.tile((generator.random(len(ahead)) < 1 / (1 + 10 ** (-ahead / 400))).astype(np.int64), REPEATED)
        rating = fit_ratings(rows(duel, met[:, 0], met[:, 1], wins, 1 - wins))
        intervals = [rating.interval(n) for n in range(AGENTS)]
        held += np.mean([at.low < 1500.0 + t < at.high for at, t in zip(intervals, truth, strict=True)])
    return held / seasons


def rows(duel: Integers, first: Integers, second: Integers, wins: Integers, losses: Integers) -> list[Seating]:
    """Return the columns of ledger rows without draws."""
    draws = np.zeros(len(duel), dtype=np.int64)
    return list(map(tuple, np.column_stack((duel, first, second, wins, draws, losses)).tolist()))


def refit(submissions: int, matches: int, ranked: int | None = None) -> Report:
    """Rate and rank once from nothing and once from the last fit; return the seconds and the memory.

    ranked: only the last so many submissions have a rank, as if the others were old versions; not all are rated then.
    """
    generator = np.random.default_rng(submissions)
    truth = generator.normal(0.0, SPREAD / POINTS, submissions)
    first = generator.integers(0, submissions, matches // 2)
    second = (first + generator.integers(1, submissions, matches // 2)) % submissions
    duel = np.arange(matches // 2)
    seatings: list[Seating] = []
    for one, other in ((first, second), (second, first)):
        wins = (generator.random(len(duel)) < 1 / (1 + np.exp(truth[other] - truth[one]))).astype(np.int64)
        seatings += rows(duel, one, other, wins, 1 - wins)
    begun, used = time.perf_counter(), time.process_time()
    listed = range(submissions - (submissions if ranked is None else ranked), submissions)
    pool = pool_of(seatings, always=listed)
    seatings = within(seatings, pool)
    rating = fit_ratings(seatings, submissions=pool)
    table_of_all = ranking(rating, among=listed)
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    last = dict(zip(rating.submissions, rating.values.tolist(), strict=True))
    begun = time.perf_counter()
    again = ranking(fit_ratings(seatings, submissions=pool, start=last, start_spread=rating.pool_spread), among=listed)
    return {
        "submissions": submissions,
        "rated": len(pool),
        "matches": 2 * len(duel),
        "seconds": round(seconds, 3),
        "processor_seconds": round(used, 3),
        "seconds_from_last": round(time.perf_counter() - begun, 3),
        # Includes the rows, Python and its libraries.
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "largest_difference": max(
            abs(one.rating.value - other.rating.value) for one, other in zip(table_of_all, again, strict=True)
        ),
    }


def _refit_in_a_process(submissions: int, matches: int, *ranked: int) -> Report:
    say(f"refit of {submissions:,} submissions over {matches:,} matches")
    command = [sys.executable, "-m", "benchmarks.ratings", "--refit-here", *map(str, (submissions, matches, *ranked))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    say("")
    answer: Report = json.loads(done.stdout)
    return answer


def summarise(errors: Mapping[int, Mapping[str, float]], repeated: float, refits: Sequence[Report]) -> Report:
    """Return the figures of the report. coverage_95: of all sizes, the one farthest from 95%."""
    coverages = {games: round(found["coverage"], 4) for games, found in errors.items()}
    rmse = {
        games: {name: round(value, 2) for name, value in found.items() if name != "coverage"}
        for games, found in errors.items()
    }
    return {
        "coverage_95": max(coverages.values(), key=lambda share: abs(share - 0.95)),
        "coverage_by_games": coverages,
        "coverage_repeated": round(repeated, 4),
        "rmse_best_everywhere": all(found["rating"] <= min(found.values()) for found in rmse.values()),
        "rmse_by_games": rmse,
        "refit_seconds": refits[0]["seconds"],
        "refit_peak_megabytes": refits[0]["peak_megabytes"],
        "refits": list(refits),
    }


def table(report: Mapping[str, Any]) -> str:
    """Return the figures as a table."""
    names = ["rating", *(f"elo_{k}" for k in STEPS)]
    by_games = [
        [str(games), *(found[name] for name in names), report["coverage_by_games"][games]]
        for games, found in report["rmse_by_games"].items()
    ]
    columns = ("submissions", "rated", "matches", "seconds", "processor_seconds", "seconds_from_last", "peak_megabytes")
    costs = [[f"{row['submissions']:,}", *(row[name] for name in columns[1:])] for row in report["refits"]]
    said = f"If all matches are repeated {REPEATED} times: coverage {report['coverage_repeated']:.3f}.\n"
    return "\n".join([
        "Root mean square error in points, and coverage of the 95% intervals:",
        text_table(["games each", "rating", *(f"Elo, K {k}" for k in STEPS), "coverage"], by_games),
        said,
        text_table(["submissions", "rated", "matches", "refit (s)", "processor (s)", "warm (s)", "peak (MB)"], costs),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
