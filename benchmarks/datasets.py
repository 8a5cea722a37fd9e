"""How fast the matches of an environment become a data set: a year of them is fetched as one file.

matches_per_second: matches of duels in the archive of records that are written as lines of JSON, with their hash, in a
second of processor time and without a network; the median of the rounds, of the slowest game. Higher is better, and the
aim is over 5,000.
read_per_second: the same lines read and checked again, as `arena pull --matches` does.
"""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from arena_kit.datasets.lines import DatasetWriter, DuelOfDataset, read_dataset
from arena_kit.environment.record_archive import write_duel
from arena_kit.environment.records import DuelRecord, MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.referee.run import run_match
from benchmarks.common import circumstances, middle, new_parser, text_table, write_json

GAMES = ("connect-four", "tic-tac-toe", "quarto")
DISTINCT = 50
"""Matches that are really played; the duels hold them again and again, under new numbers."""


class Chance:
    """Plays a random valid action."""

    def __init__(self) -> None:
        self._draw = random.Random(1)

    def start(self, state: Any, valid_actions: Any) -> int:
        return int(self._draw.choice(list(valid_actions)))

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
        return int(self._draw.choice(list(valid_actions)))

    def end(self, state: Any, prev_reward: float) -> None:
        """Learn nothing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON."""
    parser = new_parser("datasets", __doc__, rounds=5)
    parser.add_argument("--duels", type=int, default=20, help="duels of a data set (default 20)")
    parser.add_argument("--matches", type=int, default=500, help="matches of a duel (default 500)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.duels = min(options.rounds, 2), min(options.duels, 5)
    figures = {game: _measure(game, options.rounds, options.duels, options.matches) for game in GAMES}
    report = {
        "matches_per_second": min(written for written, _ in figures.values()),
        "matches_per_second_by_game": {game: written for game, (written, _) in figures.items()},
        "read_per_second_by_game": {game: read for game, (_, read) in figures.items()},
        "circumstances": circumstances(options),
    }
    print(text_table(["game", "written a second", "read a second"], [[game, *two] for game, two in figures.items()]))
    write_json(options.json, report)
    return 0


def _measure(game: str, rounds: int, duels: int, matches: int) -> tuple[float, float]:
    spec = get_spec(game)
    file = io.BytesIO()
    write_duel(DuelRecord(spec.id, 1, ("anna v1", "berta v2"), tuple(_matches(game, matches))), file)
    writing, reading = [], []
    for _ in range(rounds):
        writer = DatasetWriter(spec.id, "https://arena.example", "2026-01-01T00:00:00+00:00")
        begun = time.process_time()
        data = b"".join(
            writer.chunks(DuelOfDataset(number, ("a", "b"), ("anna v1", "berta v2"), file) for number in range(duels))
        )
        wrote = time.process_time()
        count = sum(1 for _ in read_dataset(io.BytesIO(data))) - 1
        writing.append(count / (wrote - begun))
        reading.append(count / (time.process_time() - wrote))
    return middle(writing, 0), middle(reading, 0)


def _matches(game: str, count: int) -> list[MatchRecord]:
    spec = get_spec(game)
    chance = Chance()
    played = [run_match(spec, [chance, chance], seed) for seed in range(DISTINCT)]
    return [replace(played[number % DISTINCT], number=number + 1) for number in range(count)]


if __name__ == "__main__":
    sys.exit(main())
