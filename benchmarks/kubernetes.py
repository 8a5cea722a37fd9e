"""The costs of playing on Kubernetes, compared with the Docker sandbox: `python -m benchmarks.kubernetes`.

Connect Four between `dummy` players (first valid action) in pods of a real cluster of Debian's packages: the seconds
from a Job to its first match, and the matches a second of a lot of two and of six submissions as a share of the Docker
sandbox's. Matches a second exclude start and end. Lots of both sizes have 15 duels, one after the other, because the
node is still busy with the start of the pod during the first one. `lot_share_first` is the share of that first duel of
a lot of two: what an arena gets whose lots are single duels of as few matches. Then the processor time of a driver's
tick with 1,000 lots that play, against a double of the API and without a database.

Without what `tests/kubernetes/kube-up build` makes, only the tick is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from arena_kit.environment.registry import get_spec
from arena_kit.sandbox.base import SandboxError
from benchmarks import players, pods
from benchmarks.common import (
    circumstances,
    middle,
    new_parser,
    open_sandbox,
    play_duel,
    take_turns,
    text_table,
    work_folder,
    write_json,
)
from benchmarks.ticks import tick_cpu_seconds

SPEC = get_spec("connect-four-v1")
LOT_SIZES = (2, 6)
TICKS = 9


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if the sandbox cannot be used."""
    parser = new_parser("kubernetes", __doc__, rounds=5)
    parser.add_argument("--matches", type=int, default=2000, help="matches of a duel (default 2000)")
    parser.add_argument("--lots", type=int, default=1000, help="lots that a tick follows (default 1000)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.matches, options.rounds = 500, 2
    try:
        with work_folder() as folder:
            report = measure(options, folder)
    except SandboxError as error:
        print(error, file=sys.stderr)
        return 1
    print(text_table(["figure", "median"], [[name, value] for name, value in report.items() if _is_figure(value)]))
    write_json(options.json, report)
    return 0


def measure(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Return all figures; those of a cluster are None without its cache."""
    shares = [f"lot_share_{which}" for which in (*LOT_SIZES, "first")]
    report: dict[str, object] = dict.fromkeys([*shares, "pod_start_seconds"])
    if not pods.missing():
        report |= _shares(options, folder)
    ticks = tick_cpu_seconds(folder, lots=options.lots, rounds=TICKS)
    return {**report, "tick_cpu_seconds": middle(ticks), "tick_cpu_seconds_most": max(ticks), **circumstances(options)}


def _shares(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(pods.cluster(options.base_image, folder))
        # On the same base, because players without NumPy are asked otherwise.
        sandbox = stack.enter_context(open_sandbox("docker", cluster.base, folder))
        player = players.lay_out(folder / "player", players.DUMMY)
        image = cluster.push(player)
        starts: list[float] = []
        firsts: list[float] = []

        def docker() -> float:
            return float(options.matches) / play_duel(sandbox, SPEC, (player, player), options.matches, 128).playing

        def lot(size: int) -> float:
            played = cluster.play(size, image, options.matches)
            starts.append(played.start_seconds)
            if size == LOT_SIZES[0]:
                firsts.append(played.rates[0])
            return played.rate

        ways: dict[str, Callable[[], float]] = {"docker": docker}
        ways |= {f"lot_{size}": partial(lot, size) for size in LOT_SIZES}
        # The first pods pull the images.
        lot(LOT_SIZES[-1])
        starts.clear()
        taken = take_turns(ways, options.rounds)
    rates = {name: statistics.median(values) for name, values in taken.items()}
    return {
        **{f"lot_share_{size}": round(rates[f"lot_{size}"] / rates["docker"], 3) for size in LOT_SIZES},
        "lot_share_first": round(statistics.median(firsts) / rates["docker"], 3),
        "pod_start_seconds": middle(starts),
        **{f"{name}_matches_per_second": round(rate, 1) for name, rate in rates.items()},
    }


def _is_figure(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


if __name__ == "__main__":
    sys.exit(main())
