"""How many matches a second a duel takes, against other ways to play the same matches.

Connect Four between two `dummy` players (first valid action): the arena's sandbox, one HTTP POST per move, Kaggle's
library, and no isolation at all; everything in one run, the ways in turn, medians. Start-up and tear-down are not part
of the figures, for none of the ways.

--sweep measures the arena alone: sandboxes, games and matches at once, start-up, memory, slow and large players.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from benchmarks import players, sweep
from benchmarks.common import (
    circumstances,
    draw,
    new_parser,
    open_sandbox,
    play_bare,
    play_duel,
    take_turns,
    text_table,
    work_folder,
    write_json,
)
from benchmarks.http_baseline.servers import (
    KEPT_CONNECTIONS,
    ONE_CONNECTION_A_REQUEST,
    HttpPlayer,
    container_server,
    process_server,
)
from benchmarks.kaggle_baseline import REQUIREMENTS, play_kaggle
from benchmarks.own_python import CannotInstall, own_python
from duel_runner.sandbox.base import Sandbox, SandboxError
from environments.registry import get_spec

SPEC = get_spec("connect-four")
RATIOS = {
    "speedup_http": "http",
    "speedup_http_keep_alive": "http_keep_alive",
    "speedup_kaggle": "kaggle",
    "fraction_of_bare": "bare",
}
"""Key of a ratio to the way that the arena is compared with."""


@dataclass(frozen=True)
class Way:
    """One way to play. play: plays that many matches and returns the seconds they took."""

    key: str
    title: str
    matches: int
    play: Callable[[int], float]

    def matches_per_second(self) -> float:
        """One sample."""
        matches = max(2, self.matches)
        return matches / self.play(matches)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print tables, write JSON and a plot when asked; returns 1 when the sandbox cannot be used."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.matches, options.http_matches, options.kaggle_matches, options.rounds = 1000, 6, 10, 3
    try:
        with work_folder() as folder:
            report, text = sweep.measure(options, folder) if options.sweep else _compare(options, folder)
    except SandboxError as error:
        print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
        return 1
    print(text)
    write_json(options.json, report)
    if options.plot is not None:
        draw(options.plot, sweep.panels(report))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser("runner", __doc__, rounds=7)
    parser.add_argument("--matches", type=int, default=4000, help="matches of a sample of the arena (default 4000)")
    parser.add_argument("--http-matches", type=int, default=30, help="matches of a sample over HTTP (default 30)")
    parser.add_argument("--kaggle-matches", type=int, default=30, help="matches of a sample of Kaggle's (default 30)")
    parser.add_argument("--without", choices=("kaggle",), help="leave out what has to be installed first")
    parser.add_argument("--parallel", type=int, default=SPEC.parallel_matches,
                        help=f"matches at once (default {SPEC.parallel_matches}, the environment's)")  # fmt: skip
    sweep.add_options(parser)
    return parser


def _compare(options: argparse.Namespace, folder: Path) -> tuple[dict[str, object], str]:
    missing = ""
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(open_sandbox(options.sandbox, options.base_image, folder))
        player = players.lay_out(folder / "player", players.DUMMY)
        ways = list(_ways(options, sandbox, player, folder, stack))
        if options.without != "kaggle":
            try:
                python = own_python(REQUIREMENTS)
            except CannotInstall as error:
                missing = f"Without Kaggle's library. {error}"
            else:
                ways.insert(2, Way("kaggle", "Kaggle's library, both agents in one process", options.kaggle_matches,
                                   lambda matches: play_kaggle(python, matches)))  # fmt: skip
        by_title = take_turns({way.title: way.matches_per_second for way in ways}, options.rounds)
    figures = {way.key: by_title[way.title] for way in ways}
    report = {**summarise(figures), **circumstances(options), "environment": SPEC.id}
    return report, "\n".join(filter(None, [table(ways, figures, report), missing]))


def _ways(
    options: argparse.Namespace, sandbox: Sandbox, player: Path, folder: Path, stack: contextlib.ExitStack
) -> Iterator[Way]:
    def arena(parallel: int) -> Callable[[int], float]:
        return lambda matches: play_duel(sandbox, SPEC, (player, player), matches, parallel).playing

    where = "containers" if options.sandbox == "docker" else "local processes"

    def servers(worker: Sequence[str]) -> list[str]:
        return [
            stack.enter_context(
                container_server(player, options.base_image, folder, worker)
                if options.sandbox == "docker"
                else process_server(player, worker)
            )
            for _ in range(2)
        ]

    sessions = [stack.enter_context(requests.Session()) for _ in range(2)]
    posted = [HttpPlayer(address, requests.post) for address in servers(ONE_CONNECTION_A_REQUEST)]
    kept_addresses = servers(KEPT_CONNECTIONS)
    kept = [HttpPlayer(address, session.post) for address, session in zip(kept_addresses, sessions, strict=True)]
    bare = [players.load(player), players.load(player)]
    yield Way("http", f"one HTTP POST per move, Flask in {where}", options.http_matches,
              lambda matches: play_bare(SPEC, posted, matches)[0])  # fmt: skip
    yield Way("http_keep_alive", "the same over kept connections", options.http_matches,
              lambda matches: play_bare(SPEC, kept, matches)[0])  # fmt: skip
    yield Way("arena_one_at_a_time", f"arena, {where}, 1 match at a time", options.matches // 4, arena(1))
    yield Way("arena", f"arena, {where}, {options.parallel} matches at once", options.matches, arena(options.parallel))
    yield Way("arena_128", f"arena, {where}, 128 at once (most)", options.matches, arena(128))
    yield Way("bare", "no isolation: one process", options.matches // 4,
              lambda matches: play_bare(SPEC, bare, matches)[0])  # fmt: skip


def summarise(figures: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Medians, and the ratios of medians that people ask for; None for one to a way that was left out."""
    medians = {key: statistics.median(values) for key, values in figures.items()}
    return {
        "matches_per_second": {key: round(value, 2) for key, value in medians.items()},
        "spread": {key: [round(min(values), 2), round(max(values), 2)] for key, values in figures.items()},
        **{key: round(medians["arena"] / medians[way], 3) if way in medians else None for key, way in RATIOS.items()},
    }


def table(ways: Sequence[Way], figures: Mapping[str, Sequence[float]], report: Mapping[str, object]) -> str:
    """The figures for people."""
    http = statistics.median(figures["http"])
    rows = []
    for way in ways:
        values = figures[way.key]
        median = statistics.median(values)
        rows.append([way.title, median, min(values), max(values), f"{median / http:,.1f}"])
    kaggle = report["speedup_kaggle"]
    return (
        f"{text_table(['way', 'matches/s', 'from', 'to', 'x HTTP'], rows)}\n"
        f"The arena is {report['speedup_http']:.4g} times as fast as one HTTP POST per move, "
        f"{'' if kaggle is None else f'{kaggle:.4g} times as fast as Kaggle, '}"
        f"and reaches {report['fraction_of_bare']} of no isolation (medians of {report['rounds']} rounds)."
    )


if __name__ == "__main__":
    sys.exit(main())
