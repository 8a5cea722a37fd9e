"""How many matches a second a duel plays, compared with other ways to play the same matches.

Connect Four between two `dummy` players (first valid action) in these ways: the arena's sandbox, one HTTP POST per
move, Kaggle's library, and no isolation at all. One run measures all ways in turn and reports medians. All figures
exclude start and end.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from arena_kit.sandbox.base import Sandbox, SandboxError
from benchmarks import players, ways
from benchmarks.common import (
    circumstances,
    new_parser,
    open_sandbox,
    play_duel,
    take_turns,
    text_table,
    work_folder,
    write_json,
)
from benchmarks.ways import SPEC, Way

RATIOS = {
    "speedup_http": "http",
    "speedup_http_keep_alive": "http_keep_alive",
    "speedup_kaggle": "kaggle",
    "fraction_of_bare": "bare",
}
"""The way that the arena is compared with, by the key of the ratio."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if the sandbox cannot be used."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.matches, options.http_matches, options.kaggle_matches, options.rounds = 1000, 6, 10, 3
    try:
        with work_folder() as folder:
            report, text = compare(options, folder)
    except SandboxError as error:
        print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
        return 1
    print(text)
    write_json(options.json, report)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("runner", __doc__, rounds=7)
    parser.add_argument("--matches", type=int, default=4000, help="matches of a sample of the arena (default 4000)")
    parser.add_argument("--parallel", type=int, default=SPEC.parallel_matches,
                        help=f"matches at once (default {SPEC.parallel_matches}, the environment's)")  # fmt: skip
    ways.add_options(parser)
    return parser


def compare(options: argparse.Namespace, folder: Path) -> tuple[dict[str, object], str]:
    """Compare the arena with the other ways; return the figures and their table."""
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(open_sandbox(options.sandbox, options.base_image, folder))
        player = players.lay_out(folder / "player", players.DUMMY)
        all_ways = [*ways.baselines(options, player, folder, stack), *_arena(options, sandbox, player)]
        by_title = take_turns({way.title: way.matches_per_second for way in all_ways}, options.rounds)
    figures = {way.key: by_title[way.title] for way in all_ways}
    report = {**summarise(figures), **circumstances(options), "environment": SPEC.id}
    return report, table(all_ways, figures, report)


def _arena(options: argparse.Namespace, sandbox: Sandbox, player: Path) -> list[Way]:
    def play(parallel: int, matches: int) -> float:
        return play_duel(sandbox, SPEC, (player, player), matches, parallel).playing

    where = "containers" if options.sandbox == "docker" else "local processes"
    return [
        Way("arena_one_at_a_time", f"arena, {where}, 1 match at a time", options.matches // 4, partial(play, 1)),
        Way("arena", f"arena, {where}, {options.parallel} matches at once", options.matches,
            partial(play, options.parallel)),
        Way("arena_32", f"arena, {where}, 32 at once", options.matches, partial(play, 32)),
    ]  # fmt: skip


def summarise(figures: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Return medians and ratios of medians; a ratio to a way that was left out is None."""
    medians = {key: statistics.median(values) for key, values in figures.items()}
    return {
        "matches_per_second": {key: round(value, 2) for key, value in medians.items()},
        "spread": {key: [round(min(values), 2), round(max(values), 2)] for key, values in figures.items()},
        **{key: round(medians["arena"] / medians[way], 3) if way in medians else None for key, way in RATIOS.items()},
    }


def table(all_ways: Sequence[Way], figures: Mapping[str, Sequence[float]], report: Mapping[str, object]) -> str:
    """Return the figures as a table."""
    http = statistics.median(figures["http"])
    rows = []
    for way in all_ways:
        values = figures[way.key]
        median = statistics.median(values)
        rows.append([way.title, median, min(values), max(values), f"{median / http:,.1f}"])
    kaggle = report["speedup_kaggle"]
    return (
        f"{text_table(['way', 'matches/s', 'from', 'to', 'x HTTP'], rows)}\n"
        f"The arena is {report['speedup_http']} times as fast as one HTTP POST per move, "
        f"{'' if kaggle is None else f'{kaggle} times as fast as Kaggle, '}"
        f"and reaches {report['fraction_of_bare']} of no isolation (medians of {report['rounds']} rounds)."
    )


if __name__ == "__main__":
    sys.exit(main())
