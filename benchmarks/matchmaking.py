"""How many matches a ranking takes: the ladder's choice of pairs, round robin, and nearest-rating pairing.

The agents are simulated ones with known strengths from a normal distribution, and real ones: the example players of a
game, each also in careless versions that leave a share of their moves to `random` or `dummy`. The referee plays the
matches of real agents once, and results are then drawn from these. Every way plays duels of seat-swapped pairs of
matches. The figure is the number of matches after which Kendall's tau between the order fitted by Bradley-Terry with a
prior and the true order (for real agents that of the whole table) is 0.9 in the mean over all runs. Round robin is
read twice: after any duel, and only after full rounds, in which all have met equally often as in an edition.

A match gives p (1 - p) of information on a difference, most between equal agents. The mean of 4 p (1 - p) over all
pairs is the information in a match of round robin relative to an even match. It bounds what any choice of pairs can
save, so the table shows it.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.ranking.matchmaking import ELO, Candidate, MatchmakingRules, choose_pairs
from arena_kit.ranking.pairing import round_robin
from benchmarks.common import circumstances, play_bare, say, text_table, write_json

EXAMPLES = Path(__file__).resolve().parent.parent / "example_players"
START, PRIOR_DEVIATION = 1500.0, 300.0
STEP = 60
"""Matches between two looks at the order, or a little more with longer duels."""
NEAR = 0.08
"""Looks whose tau is at most this far below the target count for the fitted line."""
LADDER_PAIRS = 5
"""Duels that the ladder chooses at once, which keeps a third of thirty agents busy."""
Floats = np.ndarray[Any, np.dtype[np.float64]]
Pairs = list[tuple[int, int]]
Report = dict[str, Any]


class Population(Protocol):
    """A set of agents that can play each other."""

    @property
    def truth(self) -> Floats:
        """The true strengths; higher is better."""

    def play(self, one: int, other: int, random: np.random.Generator) -> float:
        """Return the first agent's points in a seat-swapped pair of matches, 0 to 2."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """Agents whose results follow the logistic curve of Elo, without draws."""

    truth: Floats

    def play(self, one: int, other: int, random: np.random.Generator) -> float:
        return float(random.binomial(2, 1 / (1 + math.exp((self.truth[other] - self.truth[one]) * ELO))))


@dataclass(frozen=True, slots=True)
class Recorded:
    """Agents with recorded results. table: by pair (lower index first), the first one's points in each play."""

    truth: Floats
    table: Mapping[tuple[int, int], Sequence[float]]

    def play(self, one: int, other: int, random: np.random.Generator) -> float:
        kept = self.table[min(one, other), max(one, other)]
        points = kept[int(random.integers(len(kept)))]
        return points if one < other else 2 - points


class Run:
    """One way of pairing in one world."""

    def __init__(self, world: Population, way: str, seed: int, duel: int) -> None:
        self._world, self._seed, self._pairs = world, seed, duel // 2
        self._random = np.random.default_rng(seed)
        count = len(world.truth)
        self.matches = 0
        self._points = np.zeros((count, count))
        self._played = np.zeros((count, count))
        self._ratings = np.full(count, START)
        self._covariance = np.eye(count) * PRIOR_DEVIATION**2
        self._waited = [0] * count
        self._met: dict[tuple[int, int], int] = {}
        self._next: Pairs = []
        self._rounds = itertools.cycle(round_robin(count))
        # Each run starts at a random place in the tables, with the agents in random order.
        self._places = self._random.permutation(count).tolist()
        choices: dict[str, Callable[[], Pairs]] = {
            ROUND_ROBIN: self._round_robin,
            NEAREST: self._nearest,
            RATINGS: lambda: self._ladder(MatchmakingRules(order_share=0.0)),
            LADDER: lambda: self._ladder(MatchmakingRules()),
        }
        self._choose = choices[way]

    def go_on(self, matches: int) -> None:
        """Play duels until this many matches are played, then rate the agents."""
        while self.matches < matches:
            if not self._next:
                self._see()
                self._next = self._choose()
            one, other = self._next.pop()
            points = sum(self._world.play(one, other, self._random) for _ in range(self._pairs))
            self._points[one, other] += points
            self._points[other, one] += 2 * self._pairs - points
            self._played[[one, other], [other, one]] += 2 * self._pairs
            self.matches += 2 * self._pairs
        self._see()

    def _see(self) -> None:
        self._ratings, self._covariance = fit(self._points, self._played, self._ratings)

    def tau(self) -> float:
        """Return Kendall's tau between the fitted order and the true one, over all pairs with different strengths."""
        fitted, true = (np.sign(values[:, None] - values[None, :]) for values in (self._ratings, self._world.truth))
        return float((fitted * true).sum() / np.abs(true).sum())

    def error(self) -> float:
        """Return the root mean square error of the ratings in Elo points, with both sides centred."""
        apart = self._ratings - self._ratings.mean() - (self._world.truth - self._world.truth.mean())
        return float(np.sqrt((apart**2).mean()))

    def _round_robin(self) -> Pairs:
        return [(self._places[one], self._places[other]) for one, other in next(self._rounds)]

    def _nearest(self) -> Pairs:
        """Pair each agent with the nearest free one, nearest pairs first."""
        away = np.abs(self._ratings[:, None] - self._ratings[None, :])
        rows, columns = np.triu_indices(len(away), 1)
        free = [True] * len(away)
        chosen = []
        for place in np.argsort(away[rows, columns] + 1e-6 * self._random.random(rows.size)):
            one, other = int(rows[place]), int(columns[place])
            if free[one] and free[other]:
                free[one] = free[other] = False
                chosen.append((one, other))
        return chosen

    def _ladder(self, rules: MatchmakingRules) -> Pairs:
        played = self._played.sum(axis=1)
        deviations = np.sqrt(np.diag(self._covariance))
        candidates = [
            # Every agent has a different owner.
            Candidate(place, place, float(rating), float(deviations[place]), int(played[place]), self._waited[place])
            for place, rating in enumerate(self._ratings)
        ]
        choice = choose_pairs(
            candidates, self._met, count=LADDER_PAIRS, seed=hash((self._seed, self.matches)) % 2**32, rules=rules,
            covariance=self._covariance,
        )  # fmt: skip
        pairs = [(pairing.player_1, pairing.player_2) for pairing in choice.pairings]
        self._waited = [waited + 1 for waited in self._waited]
        for pair in pairs:
            self._met[pair] = self._met.get(pair, 0) + 1
            for place in pair:
                self._waited[place] = 0
        return pairs


def fit(points: Floats, played: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Return ratings and covariance: Bradley-Terry by Newton's method with a normal prior, draws as half."""
    ratings = start - START
    prior = 1 / PRIOR_DEVIATION**2
    for _ in range(50):
        chances = 1 / (1 + np.exp((ratings[None, :] - ratings[:, None]) * ELO))
        slope = ELO * (points - played * chances).sum(axis=1) - prior * ratings
        told = ELO**2 * played * chances * (1 - chances)
        curvature = np.diag(told.sum(axis=1) + prior) - told
        step = np.linalg.solve(curvature, slope)
        ratings = ratings + step * min(1.0, 200 / max(np.abs(step).max(), 1e-9))
        if np.abs(step).max() < 0.1:
            break
    return ratings + START, np.asarray(np.linalg.inv(curvature))


ROUND_ROBIN, NEAREST, RATINGS, LADDER = "round_robin", "nearest", "ladder_for_ratings", "ladder"
WAYS = {
    ROUND_ROBIN: "round robin",
    NEAREST: "nearest rating",
    RATINGS: "ladder, ratings only",
    LADDER: "ladder",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The means over the runs of a way after this many matches: tau, and the error of ratings in Elo points."""

    matches: int
    tau: float
    error: float


def climb(worlds: Sequence[Population], way: str, *, duel: int, matches: int) -> list[Look]:
    """Play duels of this many matches in all worlds in parallel."""
    runs = [Run(world, way, seed, duel) for seed, world in enumerate(worlds)]
    looks = []
    while (played := runs[0].matches) < matches:
        for run in runs:
            run.go_on(played + STEP)
        tau, error = (
            sum(values) / len(runs) for values in ([run.tau() for run in runs], [run.error() for run in runs])
        )
        looks.append(Look(runs[0].matches, tau, error))
        say(f"{WAYS[way]}: {played} matches, tau {tau:.3f}")
    return looks


def reached(looks: Sequence[Look], tau: float) -> int | None:
    """Return the matches after which the mean tau is reached; None if the last three looks have not reached it.

    1 - tau falls as a power of the matches, so a straight line is fitted to the logarithms of all looks from NEAR below
    the target. The first look above the target is a matter of luck and counts only if no line can be fitted.
    """
    if sum(look.tau for look in looks[-3:]) / len(looks[-3:]) < tau:
        return None
    near = [look for look in looks if tau - NEAR <= look.tau < 1]
    if len(near) > 2:
        x, y = [math.log(look.matches) for look in near], [math.log(1 - look.tau) for look in near]
        slope, height = np.polyfit(x, y, 1)
        if slope < 0 and (found := (math.log(1 - tau) - height) / slope) <= x[-1]:
            return round(math.exp(found))
    return next(look.matches for look in looks if look.tau >= tau)


def compare(worlds: Sequence[Population], *, tau: float, duel: int, matches: int, on_elo: bool) -> Report:
    """Return the matches that every way takes, and the ladder's share of the others'. on_elo: strengths are Elo."""
    looks = {way: climb(worlds, way, duel=duel, matches=matches) for way in WAYS}
    needed = {way: reached(seen, tau) for way, seen in looks.items()}
    whole = duel * math.comb(len(worlds[0].truth), 2)
    base = needed[ROUND_ROBIN]
    whole_base = None if base is None else math.ceil(base / whole) * whole
    at = min(range(len(looks[LADDER])), key=lambda place: abs(looks[LADDER][place].matches - (base or matches)))
    return {
        "matches": needed,
        "full_round_robins": whole_base,
        "share_of_round_robin": ratio(needed[LADDER], base),
        "share_of_full_round_robins": ratio(needed[LADDER], whole_base),
        "share_of_nearest": ratio(needed[LADDER], needed[NEAREST]),
        "round_robin_tells": round(sum(_told(world.truth) for world in worlds) / len(worlds), 2) if on_elo else None,
        "error_elo_then": {way: round(seen[at].error, 1) for way, seen in looks.items()} if on_elo else None,
        "tau_then": {way: round(seen[at].tau, 3) for way, seen in looks.items()},
        "tau_at_the_end": {way: round(seen[-1].tau, 3) for way, seen in looks.items()},
    }


def _told(strengths: Floats) -> float:
    """Return the mean of 4 p (1 - p) over all pairs."""
    apart = (strengths[:, None] - strengths[None, :])[np.triu_indices(len(strengths), 1)]
    return float((1 / np.cosh(apart * ELO / 2) ** 2).mean())


def ratio(part: int | None, whole: int | None) -> float | None:
    """Return a ratio; None if one of both is None, or if a way reached the target at its first look."""
    return None if part is None or not whole else round(part / whole, 2)


@cache
def _player_class(name: str) -> Any:
    """Return the class `Player` of an example, loaded from its file alone as in the arena."""
    spec = importlib.util.spec_from_file_location(f"benchmarked_{name}", EXAMPLES / name / "player.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Player


class Careless:
    """An example player that leaves a share of its moves to another player."""

    def __init__(self, player: str, helper: str, share: float, seed: int) -> None:
        self._players = (_player_class(player)(), _player_class(helper)())
        self._share, self._random = share, Random(seed)

    def start(self, state: Any, valid_actions: Any) -> Any:
        return self._mover().start(state, valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return self._mover().step(state, valid_actions, prev_reward)

    def end(self, state: Any, prev_reward: float) -> None:
        """Do nothing: the player does not learn."""

    def _mover(self) -> Any:
        # These players keep no state between moves, so a fresh one can take over.
        return self._players[self._random.random() < self._share]


def cast(count: int) -> list[tuple[str, str, float]]:
    """Return (player, helper, share of the helper) of this many different agents, from careful to careless."""
    shares = [round(0.08 * step, 2) for step in range(13)]
    everybody = [
        (player, helper, share)
        for share in shares
        for player, helper in (("deep_search", "random"), ("minimax", "dummy"), ("minimax", "random"))
        if share or helper == "random"
    ]
    return [*everybody[: count - 2], ("random", "dummy", 0.0), ("random", "dummy", 1.0)]


def record(spec: EnvironmentSpec, count: int, pairs: int) -> Recorded:
    """Play `pairs` seat-swapped pairs of matches between all real agents."""
    agents = [Careless(*role, seed) for seed, role in enumerate(cast(count))]
    table: dict[tuple[int, int], list[float]] = {}
    total = np.zeros((count, count))
    for one, other in itertools.combinations(range(count), 2):
        say(f"{spec.slug}: {one} against {other}")
        _, records = play_bare(spec, (agents[one], agents[other]), 2 * pairs, seed=100 * one + other)
        # The first agent has seat 0 in every other match.
        scores = [match.scores[number % 2] for number, match in enumerate(records)]
        points = [0.5 + 0.5 * math.copysign(bool(score), score) for score in scores]
        table[one, other] = [sum(points[place : place + 2]) for place in range(0, 2 * pairs, 2)]
        total[one, other] = sum(points)
        total[other, one] = 2 * pairs - total[one, other]
    return Recorded(total.sum(axis=1), table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matchmaking", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 5 s, with rough figures")
    parser.add_argument("--agents", type=int, default=30, help="in every world (default 30)")
    parser.add_argument("--runs", type=int, default=40, help="that every figure is the mean of (default 40)")
    parser.add_argument("--matches", type=int, default=0, help="of a run (default: eight round robins of two)")
    parser.add_argument("--duels", type=int, nargs="+", default=[2, 20], metavar="MATCHES",
                        help="how many matches a duel has, even (default 2 20)")  # fmt: skip
    parser.add_argument("--spreads", type=int, nargs="*", default=[120, 160, 200], metavar="ELO",
                        help="standard deviations of simulated strengths (default 120 160 200)")  # fmt: skip
    parser.add_argument(
        "--games",
        nargs="*",
        default=["tic-tac-toe"],
        help="of real agents (default tic-tac-toe)",
    )
    parser.add_argument("--pairs", type=int, default=40, help="of matches that two real agents play (default 40)")
    parser.add_argument("--tau", type=float, default=0.9, help="to be reached (default 0.9)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.agents, options.runs, options.spreads, options.pairs, options.tau = 8, 4, [200], 2, 0.6
        options.duels = [4]
    matches = options.matches or 8 * options.agents * (options.agents - 1)
    fields: dict[str, tuple[list[Population], bool]] = {}
    for spread in options.spreads:
        drawn = [np.random.default_rng([spread, run]).normal(0, spread, options.agents) for run in range(options.runs)]
        fields[f"simulated, {spread} Elo"] = ([Simulated(strengths) for strengths in drawn], True)
    for game in options.games:
        fields[f"real, {game}"] = ([record(get_spec(game), options.agents, options.pairs)] * options.runs, False)
    compared = {
        f"{field}, duels of {duel}": compare(worlds, tau=options.tau, duel=duel, matches=matches, on_elo=on_elo)
        for duel in options.duels
        for field, (worlds, on_elo) in fields.items()
    }
    say("")
    report = {"tau": options.tau, "worlds": compared, **circumstances(options)}
    print(table(report))
    write_json(options.json, report)
    return 0


def table(report: Report) -> str:
    """Return the figures as a table."""
    header = (f"matches to tau {report['tau']}", *WAYS.values(), "full round robins", "ladder/round robin",
              "ladder/full ones", "ladder/nearest", "round robin tells")  # fmt: skip
    names = ("full_round_robins", "share_of_round_robin", "share_of_full_round_robins", "share_of_nearest",
             "round_robin_tells")  # fmt: skip
    worlds = report["worlds"].items()
    rows = [(world, *figures["matches"].values(), *(figures[name] for name in names)) for world, figures in worlds]
    errors = [(world, *figures["error_elo_then"].values()) for world, figures in worlds if figures["error_elo_then"]]
    if not errors:
        return text_table(header, rows)
    below = text_table(("error (Elo) when round robin is there", *WAYS.values()), errors)
    return f"{text_table(header, rows)}\n\n{below}"


if __name__ == "__main__":
    sys.exit(main())
