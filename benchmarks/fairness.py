"""Ask whether a player can slow its opponent: an honest NumPy player's time per move against players that burn CPU.

The honest player meets `dummy`, then players with a thread and with a process that burn CPU all the time. Then it meets
`dummy` while the container of the next duel's player, which burns CPU as long as it can, is prepared or is ready. All
take turns. The time per move is what the referee charges.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from arena_kit.environment.records import DuelRecord
from arena_kit.environment.registry import get_spec
from arena_kit.sandbox.base import Launch, Sandbox, SandboxError
from arena_kit.sandbox.warm import WarmPlayers
from benchmarks import players
from benchmarks.common import (
    BENCH_LABEL,
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

SPEC = get_spec("connect-four")
DUMMY = "dummy"
OPPONENTS = {
    DUMMY: players.DUMMY,
    "a burning thread": players.THREAD_BURNER,
    "a burning process": players.PROCESS_BURNER,
}
WAITING = {"dummy, a burner is loaded": 6.0, "dummy, a burner is ready": 0.0}
"""Seconds that the next duel's player burns CPU while it is loaded; with 0 the duel begins after loading."""
READY_SECONDS = 2.0
"""Seconds after which a container has started and its player is loaded."""
COUNTER = itertools.count(1)
Sample = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if the sandbox cannot be used."""
    parser = new_parser("fairness", __doc__, rounds=7)
    parser.add_argument("--matches", type=int, default=200, help="matches of a sample (default 200)")
    parser.add_argument("--parallel", type=int, default=SPEC.parallel_matches,
                        help=f"matches at once (default {SPEC.parallel_matches}, the environment's)")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.quick:
        options.matches, options.rounds = 60, 3
    try:
        with work_folder() as folder, open_sandbox(options.sandbox, options.base_image, folder) as sandbox:
            honest = players.lay_out(folder / "honest", players.HONEST)
            opponents = {
                title: players.lay_out(folder / f"opponent-{number}", source)
                for number, (title, source) in enumerate(OPPONENTS.items())
            }
            waiting = {
                seconds: players.lay_out(folder / f"next-{seconds:g}", players.WAITING_BURNER.format(seconds=seconds))
                for seconds in WAITING.values()
            }
            play = partial(_sample, sandbox, honest, matches=options.matches, parallel=options.parallel)
            beside = partial(_sample_beside, sandbox, partial(play, opponents[DUMMY]))
            samples = take_turns(
                {title: partial(play, opponent) for title, opponent in opponents.items()}
                | {title: partial(beside, waiting[seconds], seconds) for title, seconds in WAITING.items()},
                options.rounds,
            )
    except SandboxError as error:
        print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
        return 1
    report = {**summarise(samples), **circumstances(options)}
    print(table(report))
    write_json(options.json, report)
    return 0


def _sample(
    sandbox: Sandbox,
    honest: Path,
    opponent: Path,
    *,
    matches: int,
    parallel: int,
    on_core: Callable[[int | None], None] | None = None,
) -> Sample:
    duel = play_duel(sandbox, SPEC, (honest, opponent), matches, parallel, may_fail=True, on_core=on_core)
    if duel.record.summary.errors[0]:
        raise RuntimeError(f"The honest player forfeited: {duel.record.matches}")
    return per_move(duel.record)


def _sample_beside(sandbox: Sandbox, play: Callable[..., Sample], player: Path, seconds: float) -> Sample:
    """Play a duel while the next duel's player waits in a warm container, as at every worker."""
    with contextlib.closing(WarmPlayers(sandbox, capacity=4, idle_seconds=600)) as pool:

        def make_ready(core: int | None) -> None:
            name = f"arena-bench-{os.getpid()}-next-{next(COUNTER)}"
            pool.prepare([[Launch(f"folder:{player}", name, SPEC.limits, {BENCH_LABEL: str(os.getpid())}, core)]])
            if not seconds:
                time.sleep(READY_SECONDS)

        return play(on_core=make_ready)


def per_move(record: DuelRecord) -> Sample:
    """Return player_1's milliseconds per move in the median match, wall and (if recorded) CPU; player_2's forfeits."""
    matches = [match for match in record.matches if match.move_counts[0]]
    sample = {
        "wall_ms": _median_ms([match.thinking_seconds[0] / match.move_counts[0] for match in matches]),
        "slowest_ms": 1000 * max((match.slowest_move_seconds[0] for match in matches), default=0.0),
        "stopped": float(record.summary.errors[1]),
    }
    cpu = [seconds[0] / match.move_counts[0] for match in matches if any(seconds := match.cpu_seconds)]
    return {**sample, "cpu_ms": _median_ms(cpu)} if cpu else sample


def _median_ms(seconds: Sequence[float]) -> float:
    return 1000 * statistics.median(seconds) if seconds else 0.0


def summarise(samples: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
    """Return medians by opponent, and how much slower the honest player is against the worst burner than `dummy`."""
    medians = {
        title: {key: middle([sample[key] for sample in taken], 4) for key in taken[0]}
        for title, taken in samples.items()
    }
    calm = medians[DUMMY]
    slowdowns = {title: round(row["wall_ms"] / calm["wall_ms"], 3) for title, row in medians.items() if title != DUMMY}
    return {"slowdown_by_burner": max(slowdowns.values()), "slowdowns": slowdowns, "honest_player": medians}


def table(report: Mapping[str, Any]) -> str:
    """Return the figures as a table."""
    rows = [
        [title, row["wall_ms"], row.get("cpu_ms"), row["slowest_ms"], report["slowdowns"].get(title), row["stopped"]]
        for title, row in report["honest_player"].items()
    ]
    header = ["opponent", "wall ms a move", "CPU ms", "slowest ms", "x dummy", "matches it forfeited"]
    return (
        f"{text_table(header, rows)}\n"
        f"Against a CPU burner an honest player takes {report['slowdown_by_burner']} times as long as without one."
    )


if __name__ == "__main__":
    sys.exit(main())
