"""A whole tournament, end to end: the time that the arena spends on anything but playing, and how it scales.

Real workers build and validate uploaded NumPy players on a private database and data folder. Then the clock starts, and
the workers play a round robin of Connect Four. overhead_fraction is the share of the workers' wall time without a match
in progress: 1 - (seconds that the duels' matches took) / (workers x wall time).
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena_kit.environment.registry import get_spec
from arena_kit.sandbox.base import SandboxError
from benchmarks import players
from benchmarks.arena import Arena, ArenaFailed, Edition
from benchmarks.common import (
    Panel,
    circumstances,
    draw,
    middle,
    new_parser,
    open_sandbox,
    say,
    text_table,
    work_folder,
    write_json,
)

SPEC = get_spec("connect-four")
SIZES = (5, 10, 20)
WORKERS = (1, 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON and a plot; return 1 if the arena cannot be used."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.agents, options.rounds = [6], 1
    # A signal becomes an exception, so that the workers are stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with work_folder() as folder, open_sandbox(options.sandbox, options.base_image, folder):
            preparation, played = _play(options, folder)
    except SandboxError as error:
        print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
        return 1
    except ArenaFailed as error:
        print(error, file=sys.stderr)
        return 1
    report = {**summarise(played), **preparation, **circumstances(options)}
    print(table(report))
    write_json(options.json, report)
    if options.plot is not None:
        draw(options.plot, panels(report))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("tournament", __doc__, rounds=1)
    sizes, workers = " ".join(map(str, SIZES)), " ".join(map(str, WORKERS))
    parser.add_argument("--agents", type=int, nargs="+", default=list(SIZES), help=f"sizes (default {sizes})")
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS), help=f"default {workers}")
    parser.add_argument("--matches", type=int, default=SPEC.matches_per_duel,
                        help=f"matches of a duel (default {SPEC.matches_per_duel})")  # fmt: skip
    parser.add_argument("--players", choices=("policy", "linear"), default="policy",
                        help="three layers of NumPy a move, or one (default policy)")  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the figures")
    return parser


def _play(options: argparse.Namespace, folder: Path) -> tuple[dict[str, float], list[Edition]]:
    arena = Arena(folder, sandbox=options.sandbox, base_image=options.base_image)
    sources = [
        (players.POLICY if options.players == "policy" else players.LINEAR).format(
            seed=seed, actions=SPEC.action_count, size=SPEC.observation.shape[0]
        )
        for seed in range(max(options.agents))
    ]
    try:
        say(f"building and validating {len(sources)} players")
        ready, whole = arena.prepare(sources, slug=SPEC.slug, match_count=options.matches, workers=max(options.workers))
        played: list[Edition] = []
        for number in range(1, options.rounds + 1):
            for agents in options.agents:
                for workers in options.workers:
                    say(f"round {number} of {options.rounds}: {agents} agents, {workers} workers")
                    played += arena.play(slug=SPEC.slug, agents=agents, workers=workers)
        say("")
    finally:
        arena.remove()
    return {"upload_to_ready_seconds": round(ready, 2), "preparation_seconds": round(whole, 2)}, played


def summarise(played: Sequence[Edition]) -> dict[str, Any]:
    """Return one row per size, number of workers and start, as medians over rounds.

    The keys are those of the largest edition on warm workers, with the fewest workers: as many workers as cores would
    compete with the processes around them.
    """
    cases = sorted({(edition.agents, edition.workers, edition.is_cold) for edition in played})
    rows = [_row([e for e in played if (e.agents, e.workers, e.is_cold) == case]) for case in cases]
    most = [row for row in rows if row["agents"] == rows[-1]["agents"]]
    warm, cold = ([row for row in most if row["is_cold"] is is_cold] for is_cold in (False, True))
    largest = warm[0]
    walls = {row["workers"]: row["wall_seconds"] for row in warm}
    return {
        "overhead_fraction": largest["overhead_fraction"],
        "cold_overhead_fraction": cold[0]["overhead_fraction"] if cold else None,
        "two_worker_speedup": round(walls[1] / walls[2], 3) if walls.keys() >= {1, 2} else None,
        "matches_per_second": largest["matches_per_second"],
        "editions": rows,
    }


def _row(rounds: Sequence[Edition]) -> dict[str, Any]:
    first = rounds[0]
    overheads = [overhead for edition in rounds if (overhead := overhead_fraction(edition)) is not None]
    playing = [seconds for edition in rounds for seconds in edition.playing_seconds if seconds is not None]
    return {
        "agents": first.agents,
        "workers": first.workers,
        "is_cold": first.is_cold,
        "duels": len(first.playing_seconds),
        "wall_seconds": middle([edition.wall_seconds for edition in rounds]),
        "matches_per_second": middle([edition.match_count / edition.wall_seconds for edition in rounds], 1),
        "playing_seconds_per_duel": round(statistics.median(playing), 4) if playing else None,
        "other_seconds_per_duel": middle([seconds for edition in rounds for seconds in edition.other_seconds], 4),
        "overhead_fraction": middle(overheads) if overheads else None,
    }


def overhead_fraction(edition: Edition) -> float | None:
    """Return the share of the workers' wall time without a match in progress; None if a duel's log lacks the time."""
    known = [seconds for seconds in edition.playing_seconds if seconds is not None]
    if len(known) < len(edition.playing_seconds):
        return None
    return 1 - sum(known) / (edition.workers * edition.wall_seconds)


def table(report: dict[str, Any]) -> str:
    """Return the figures as a table."""
    header = [
        "agents",
        "workers",
        "cold",
        "duels",
        "wall (s)",
        "matches/s",
        "playing a duel (s)",
        "rest of it (s)",
        "overhead",
    ]
    lines = [text_table(header, [list(row.values()) for row in report["editions"]])]
    lines.append(
        f"From upload to ready on idle workers: {report['upload_to_ready_seconds']} s; "
        f"all players: {report['preparation_seconds']} s, before the clock started."
    )
    if report["overhead_fraction"] is None:
        lines.append("The share of playing is unknown: the duels' logs do not say how long playing took.")
    else:
        lines.append(f"Anything but playing takes {report['overhead_fraction']:.1%} of the workers' wall time.")
    if report["two_worker_speedup"] is not None:
        lines.append(f"Two workers are {report['two_worker_speedup']} times as fast as one.")
    return "\n".join(lines)


def panels(report: dict[str, Any]) -> list[Panel]:
    """Return diagrams of wall time, matches per second and overhead over agents, a line per number of workers."""
    rows = report["editions"]

    def lines(key: str) -> dict[str, list[tuple[float, float]]]:
        return {
            f"{workers} worker{'s' * (workers > 1)}": [
                (row["agents"], row[key])
                for row in rows
                if row["workers"] == workers and not row["is_cold"] and row[key] is not None
            ]
            for workers in sorted({row["workers"] for row in rows})
        }

    return [
        Panel("wall time of an edition", "agents", "s", lines("wall_seconds")),
        Panel("matches per second", "agents", "matches/s", lines("matches_per_second")),
        Panel("share of wall time without a match", "agents", "fraction", lines("overhead_fraction")),
    ]


if __name__ == "__main__":
    sys.exit(main())
