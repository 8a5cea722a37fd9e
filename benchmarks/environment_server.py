"""What an environment server costs: the same duel with the game in the referee's process and in a server.

`python -m benchmarks.runner --environment-server` runs this.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from arena_kit.environment.server.client import close_servers
from arena_kit.sandbox.base import Sandbox
from benchmarks import players
from benchmarks.common import circumstances, open_sandbox, play_duel, take_turns, text_table
from benchmarks.ways import SPEC, Way

PARALLEL = 32
GOAL = 0.5
"""The share of the speed in process that the server should reach."""


def measure(options: argparse.Namespace, folder: Path) -> tuple[dict[str, object], str]:
    """Play duels both ways in turn; return the figures and their table."""
    with open_sandbox(options.sandbox, options.base_image, folder) as sandbox:
        player = players.lay_out(folder / "player", players.DUMMY)
        both = _ways(options, sandbox, player)
        try:
            by_title = take_turns({way.title: way.matches_per_second for way in both}, options.rounds)
        finally:
            close_servers()
    figures = {way.key: by_title[way.title] for way in both}
    report = {**summarise(figures), **circumstances(options), "environment": SPEC.id, "parallel": PARALLEL}
    return report, table(both, figures, report)


def _ways(options: argparse.Namespace, sandbox: Sandbox, player: Path) -> list[Way]:
    def play(is_outside: bool, matches: int) -> float:
        spec = replace(SPEC, is_outside=is_outside)
        return play_duel(sandbox, spec, (player, player), matches, PARALLEL).playing

    return [
        Way("in_process", f"in the referee's process, {PARALLEL} at once", options.matches, partial(play, False)),
        Way("server", f"in an environment server, {PARALLEL} at once", options.matches, partial(play, True)),
    ]


def summarise(figures: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Return medians, and the share of the speed in process that the server reaches."""
    medians = {key: statistics.median(values) for key, values in figures.items()}
    return {
        "matches_per_second": {key: round(value, 2) for key, value in medians.items()},
        "spread": {key: [round(min(values), 2), round(max(values), 2)] for key, values in figures.items()},
        "server_share": round(medians["server"] / medians["in_process"], 3),
    }


def table(both: Sequence[Way], figures: Mapping[str, Sequence[float]], report: Mapping[str, object]) -> str:
    """Return the figures as a table."""
    rows = [[way.title, statistics.median(values := figures[way.key]), min(values), max(values)] for way in both]
    return (
        f"{text_table(['way', 'matches/s', 'from', 'to'], rows)}\n"
        f"The server reaches {report['server_share']} of the speed in process; the goal is {GOAL}."
    )
