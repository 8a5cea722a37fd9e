"""The workers and hosts that a set of users needs, from the measured seconds of a job on this machine.

A day's uploads come at random within eight hours. Each one is built and validated, and then plays the duels of a new
version: against all others of its game, or as many as an edition of chosen pairs gives it. The day is played by
`core.operations.load.waits`, as the page for operators plays the last day, with the fewest workers with which 95% of
the uploads are taken within a minute and 95% of the duels begin within ten.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from arena_kit.ranking.newcomers import edition_sizes
from benchmarks.common import text_table

HOURS = 8
UPLOAD_WAIT, DUEL_WAIT = 60.0, 600.0
SEED = 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe the users."""
    group = parser.add_argument_group("the users for whom workers are counted")
    group.add_argument("--uploads-a-day", type=int, default=400, help="of all users together (default 400)")
    group.add_argument("--agents-a-game", type=int, default=500, help="(default 500)")
    group.add_argument("--all-pairs-up-to", type=int, default=24, help="agents of a game (default 24)")
    group.add_argument("--matches-a-duel", type=int, default=0, help="(default as measured)")
    group.add_argument("--cores-a-host", type=int, default=8, help="a duel has one core (default 8)")


def needed(
    options: argparse.Namespace, *, upload_seconds: float, match_seconds: float, matches: int
) -> list[Mapping[str, Any]]:
    """Return what builds and validations need, and what duels need. matches: of a duel, as measured."""
    agents, chance = options.agents_a_game, np.random.default_rng(SEED)
    comes = np.sort(chance.uniform(0, HOURS * 3600, options.uploads_a_day)).tolist()
    each = agents - 1 if agents <= options.all_pairs_up_to else edition_sizes(agents).new_duels
    duel_seconds = match_seconds * (options.matches_a_duel or matches)
    duels = [(at, duel_seconds) for at in comes for _ in range(each)]
    return [
        _row("builds, with as many for validations", [(at, upload_seconds) for at in comes], UPLOAD_WAIT),
        _row(f"duels, {each} an upload", duels, DUEL_WAIT),
    ]


def _row(what: str, jobs: Sequence[tuple[float, float]], most_wait: float) -> Mapping[str, Any]:
    """Return the fewest workers that do the jobs in time, and how busy they are meanwhile."""
    from core.operations.load import percentile, waits

    seconds = sum(seconds for _, seconds in jobs)
    least = max(1, math.ceil(seconds / (HOURS * 3600 + most_wait)))
    workers = next(number for number in count(least) if percentile(waits(jobs, number)) <= most_wait)
    return {
        "what": what,
        "jobs": len(jobs),
        "seconds": round(jobs[0][1], 1),
        "workers": workers,
        "busy": round(seconds / (workers * HOURS * 3600), 2),
    }


def table(rows: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> str:
    """Return the needs as a table and a sentence on hosts."""
    lines = [(row["what"], row["jobs"], row["seconds"], row["workers"], f"{row['busy']:.0%}") for row in rows]
    workers = 2 * rows[0]["workers"] + rows[1]["workers"]
    hosts = math.ceil(workers / options.cores_a_host)
    noun = "host" if hosts == 1 else "hosts"
    return (
        f"{options.uploads_a_day} uploads a day, {options.agents_a_game} agents a game:\n"
        f"{text_table(('work', 'jobs a day', 'seconds each', 'workers', 'busy'), lines)}\n"
        f"{workers} workers in all: {hosts} {noun} of {options.cores_a_host} cores like these."
    )
