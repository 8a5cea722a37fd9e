"""How often the 95% intervals of rollouts hold the truth, in simulated sets of tasks.

The chance of an agent at a task is drawn from a beta distribution: easy and hard tasks in equal parts, mostly hard
ones, or tasks that are either solved nearly always or nearly never. The truth is the mean over all tasks like these.
The success rate and pass^3 have the interval of `arena_kit.rollout.numbers.attempts`, the difference of two agents at
the same tasks that of `arena_kit.ranking.paired`. Beside it stands a percentile bootstrap over tasks. Few
attempts leave few values that a rate can have, so single settings lie above or below; the mean over all settings is
what should be 95%.

With --worlds, worlds of a shipped package are measured on this machine's Docker engine besides (`rollout_worlds.py`).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arena_kit.ranking.paired import difference_interval
from arena_kit.ranking.scores import Interval
from arena_kit.rollout.numbers.attempts import Counts, Measure, clustered_interval, pass_all_k, set_figure
from benchmarks.common import circumstances, say, text_table, write_json

SETS = {"mixed": (2.0, 2.0), "mostly hard": (0.5, 2.5), "either or": (0.3, 0.3)}
"""The parameters of the beta distribution of chances, by the name of the set."""
TASKS = (8, 15, 30, 100)
ATTEMPTS = (1, 3, 8)
FIGURES = ("pass@1", "pass^3", "difference")
DRAWS = 400
"""Resamples of the bootstrap that stands beside."""
SHARED = 0.7
"""How alike two agents are: the share of tasks at which the second has the chance of the first."""
Generator = np.random.Generator
Floats = np.ndarray[Any, np.dtype[np.float64]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rollouts", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with rougher figures")
    parser.add_argument("--sets", type=int, default=2000, help="simulated for every setting (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default 1)")
    parser.add_argument("--worlds", choices=("shop", "reports", "wiki"), help="measure worlds of this package, too")
    parser.add_argument("--rounds", type=int, default=5, help="of provisioning (default 5)")
    parser.add_argument("--times", type=int, default=3,
                        help="that each task is played by the oracle and the idle agent (default 3)")  # fmt: skip
    parser.add_argument("--in-a-row", type=int, default=100,
                        help="rollouts one after the other, the others being four at a time (default 100)")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=600,
                        help="after which no further round of all tasks begins (default 600)")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.quick:
        options.sets, options.rounds, options.times = min(options.sets, 200), min(options.rounds, 2), 1
    found = coverage(options.sets, options.seed)
    report = {**summary(found), "settings": found, **circumstances(options)}
    if options.worlds:
        from benchmarks.rollout_worlds import Effort, lines, measured

        report |= measured(options.worlds, Effort(options.rounds, options.times, options.in_a_row, options.minutes))
        print("\n".join(lines(report)))
    print(table(found))
    print(f"all: {report['coverage_95']:.1%}, bootstrap {report['coverage_95_bootstrap']:.1%}")
    write_json(options.json, report)
    return 0


def coverage(sets: int, seed: int) -> list[dict[str, Any]]:
    """Return for every setting how often the interval, and the bootstrap's, held the truth, and how wide they were."""
    found = []
    for place, (name, tasks, attempts) in enumerate(itertools.product(SETS, TASKS, ATTEMPTS)):
        say(f"{name}, {tasks} tasks, {attempts} attempts")
        for figure in FIGURES:
            if figure != "pass^3" or attempts >= 3:
                generator = np.random.default_rng((seed, place))
                held = simulated(figure, SETS[name], tasks, attempts, sets, generator)
                found.append({"set": name, "tasks": tasks, "attempts": attempts, "figure": figure, **held})
    return found


def simulated(
    figure: str, shape: tuple[float, float], tasks: int, attempts: int, sets: int, generator: Generator
) -> dict[str, float]:
    """Return the coverage of the interval, of the bootstrap beside it, and the mean width of the interval."""
    truth, draw = _FIGURES[figure](shape, tasks, attempts, generator)
    held = boot = 0
    width = 0.0
    for _ in range(sets):
        values, interval = draw()
        held += interval.low - 1e-12 <= truth <= interval.high + 1e-12
        width += interval.high - interval.low
        means = values[generator.integers(0, tasks, size=(DRAWS, tasks))].mean(axis=1)
        low, high = np.quantile(means, (0.025, 0.975))
        boot += bool(low - 1e-12 <= truth <= high + 1e-12)
    return {
        "coverage_95": round(held / sets, 4),
        "bootstrap": round(boot / sets, 4),
        "width": round(width / sets, 4),
    }


Drawn = tuple[float, Callable[[], tuple[Floats, Interval]]]


def _rate(shape: tuple[float, float], tasks: int, attempts: int, generator: Generator) -> Drawn:
    def draw() -> tuple[Floats, Interval]:
        solved = generator.binomial(attempts, generator.beta(*shape, tasks))
        figure = set_figure({str(n): Counts(attempts, int(each)) for n, each in enumerate(solved)}, 1, Measure.ANY)
        assert figure.interval is not None
        return solved / attempts, figure.interval

    return shape[0] / sum(shape), draw


def _all_three(shape: tuple[float, float], tasks: int, attempts: int, generator: Generator) -> Drawn:
    def draw() -> tuple[Floats, Interval]:
        solved = generator.binomial(attempts, generator.beta(*shape, tasks))
        values = np.asarray([pass_all_k(Counts(attempts, int(each)), 3) for each in solved], dtype=float)
        return values, clustered_interval(values.tolist(), tasks * attempts)

    a, total = shape[0], sum(shape)
    return a * (a + 1) * (a + 2) / (total * (total + 1) * (total + 2)), draw


def _difference(shape: tuple[float, float], tasks: int, attempts: int, generator: Generator) -> Drawn:
    def draw() -> tuple[Floats, Interval]:
        chances = generator.beta(*shape, tasks)
        # Where the second agent is not like the first it is better: its chances are those of two tries.
        others = np.where(generator.random(tasks) < SHARED, chances, 1 - (1 - chances) ** 2)
        values = (generator.binomial(attempts, others) - generator.binomial(attempts, chances)) / attempts
        return values, difference_interval(values.tolist())

    a, total = shape[0], sum(shape)
    mean, square = a / total, a * (a + 1) / (total * (total + 1))
    return (1 - SHARED) * (mean - square), draw


_FIGURES: dict[str, Callable[[tuple[float, float], int, int, Generator], Drawn]] = {
    "pass@1": _rate, "pass^3": _all_three, "difference": _difference,
}  # fmt: skip


def summary(found: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the mean coverage of all settings, the lowest one, and both for the bootstrap."""
    ours, boot = ([row[key] for row in found] for key in ("coverage_95", "bootstrap"))
    return {
        "coverage_95": round(float(np.mean(ours)), 4),
        "coverage_95_lowest": min(ours),
        "coverage_95_bootstrap": round(float(np.mean(boot)), 4),
        "coverage_95_bootstrap_lowest": min(boot),
    }


def table(found: Sequence[dict[str, Any]]) -> str:
    """Return the figures as a table."""
    lines = [
        [row["set"], str(row["tasks"]), str(row["attempts"]), row["figure"], f"{row['coverage_95']:.1%}",
         f"{row['bootstrap']:.1%}", f"{row['width']:.3f}"]
        for row in found
    ]  # fmt: skip
    return text_table(["set", "tasks", "attempts", "figure", "intervals", "bootstrap", "width"], lines)


if __name__ == "__main__":
    raise SystemExit(main())
