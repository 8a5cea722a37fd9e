"""Simulate agents that join one after the other: ranks by chosen duels against as many duels of all pairs. Pure.

Strengths are normal with a spread of `--spread` points of Elo. The first 24 agents meet all others. Then one joins at a
time, with the duels of an edition (`edition_sizes`): its own, and those of the others. `chosen` plays them as the arena
does. `all pairs` plays as many duels of an edition of all pairs: every opponent is equally likely, and no pair meets
again before all have met. Both are rated by the arena's own fit.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from arena_kit.ranking.matchmaking import Candidate, choose_pairs, expected_score
from arena_kit.ranking.newcomers import Met, edition_sizes, opponent_choose, strength_after
from arena_kit.ranking.rating import RatingFit, fit_ratings, ranking
from benchmarks.common import circumstances, say, text_table, write_json

FIRST = 24
CHOSEN, ALL = "chosen", "all pairs"


class Field:
    """Agents with true strengths, and all matches of every pair."""

    def __init__(self, strengths: Sequence[float], matches: int, seed: int) -> None:
        self._strengths, self._matches, self._chance = strengths, matches, np.random.default_rng(seed)
        self.totals: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        self.duels: Counter[tuple[int, int]] = Counter()

    def play(self, one: int, other: int) -> None:
        first, second = min(one, other), max(one, other)
        share = expected_score(self._strengths[first] - self._strengths[second], 0.0)
        won = int(self._chance.binomial(self._matches, share))
        self.totals[first, second][0] += won
        self.totals[first, second][1] += self._matches - won
        self.duels[first, second] += 1

    def met(self, one: int) -> dict[int, Met]:
        return {
            sum(pair) - one: Met(self.duels[pair], (won if pair[0] == one else lost) / (won + lost))
            for pair, (won, lost) in self.totals.items()
            if one in pair
        }

    def fit(self, count: int) -> RatingFit:
        rows = [
            (number, *pair, won, 0, lost) for number, (pair, (won, lost)) in enumerate(self.totals.items(), start=1)
        ]
        return fit_ratings(rows, submissions=range(count), has_first_seat=False)


def chosen_join(field: Field, new: int, seed: int) -> None:
    """Play an edition with one new agent as `core.editions.chosen` does, without open duels."""
    size, fitted = edition_sizes(new + 1), field.fit(new)
    deviations = np.sqrt(np.diagonal(fitted.covariance))
    known = {key: Candidate(key, key, float(fitted.values[key]), float(deviations[key]), 1000, 0) for key in range(new)}
    own = Candidate(new, new, fitted.pool_mean, fitted.pool_spread, 0, 0)
    for number in range(size.new_duels):
        met = field.met(new)
        value, deviation = strength_after(own, met, known)
        one = replace(own, rating=value, deviation=deviation, matches=number)
        pairing = opponent_choose(one, list(known.values()), met, seed=seed * 1009 + number)
        assert pairing is not None
        field.play(new, pairing.player_2)
    free = sorted(known.values(), key=lambda row: -row.deviation)[:200]
    for row in choose_pairs(free, field.duels, count=size.other_duels, seed=seed, recent={}).pairings:
        field.play(row.player_1, row.player_2)


def any_join(field: Field, new: int, seed: int) -> None:
    """Play as many duels of all pairs."""
    size, chance = edition_sizes(new + 1), random.Random(seed)
    for other in chance.sample(range(new), size.new_duels):
        field.play(new, other)
    pairs = [(one, other) for one in range(new) for other in range(one + 1, new)]
    chance.shuffle(pairs)
    for one, other in sorted(pairs, key=lambda pair: field.duels[pair])[: size.other_duels]:
        field.play(one, other)


def simulate(count: int, spread: float, matches: int, seed: int) -> dict[str, dict[str, float]]:
    """Return by way: how well it ranks all at the end, and newcomers right after their edition."""
    strengths = np.random.default_rng(seed).normal(1500, spread, count).tolist()
    found = {}
    for way, join in ((CHOSEN, chosen_join), (ALL, any_join)):
        field = Field(strengths, matches, seed)
        for one in range(FIRST):
            for other in range(one):
                field.play(one, other)
        errors, covered = [], []
        for new in range(FIRST, count):
            join(field, new, seed + new)
            if new % 10 == 9:
                place = next(row for row in ranking(field.fit(new + 1)) if row.submission == new)
                true = 1 + sum(other > strengths[new] for other in strengths[:new])
                errors.append(abs(place.rank - true) / new)
                covered.append(place.best_rank <= true <= place.worst_rank)
        values = field.fit(count).values
        places = [np.argsort(np.argsort(-np.array(row))) for row in (values, strengths)]
        found[way] = {
            "duels": sum(field.duels.values()),
            "kendall_tau": float(kendalltau(values, strengths).statistic),
            "mean_rank_error": float(np.abs(places[0] - places[1]).mean()),
            "newcomer_error_percent": 100 * statistics.mean(errors),
            "newcomer_in_interval_percent": 100 * statistics.mean(covered),
        }
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print a table and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.joining", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--agents", type=int, default=200, help="default 200")
    parser.add_argument("--spread", type=float, default=200.0, help="of true strengths, points of Elo (default 200)")
    parser.add_argument("--matches", type=int, default=10, help="of a duel (default 10)")
    parser.add_argument("--runs", type=int, default=5, help="default 5")
    options = parser.parse_args(arguments)
    runs = []
    for seed in range(options.runs):
        say(f"run {seed + 1} of {options.runs}")
        runs.append(simulate(options.agents, options.spread, options.matches, seed))
    say("")
    report = {way: _means([run[way] for run in runs]) for way in runs[0]}
    print(text_table(("", *(name.replace("_", " ") for name in report[CHOSEN])),
                     [(way, *row.values()) for way, row in report.items()]))  # fmt: skip
    write_json(options.json, {**circumstances(options), **report})
    return 0


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    return {name: round(statistics.mean(row[name] for row in rows), 3) for name in rows[0]}


if __name__ == "__main__":
    sys.exit(main())
