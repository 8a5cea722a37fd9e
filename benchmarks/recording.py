"""What it costs to store a match: seconds compared with playing, bytes of a duel's artifact, seconds to open a match.

The duels are between two random players, so that no two matches are alike and repetition does not help compression.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from arena_kit.environment.record_archive import DuelArchive, write_duel
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.sandbox.base import Sandbox, SandboxError
from benchmarks import players
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

GAMES = ("connect-four", "tic-tac-toe", "quarto")
OPENED = 20
"""Number of matches that are opened, each in a newly opened file."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A recorded duel. Seconds: of the whole duel or of one match. Bytes: of the file, and of the part read."""

    playing: float
    writing: float
    opening: float
    replaying: float
    file_bytes: int
    read_bytes: int


class CountedFile(io.FileIO):
    """A file that counts the bytes read."""

    read_count = 0

    def readinto(self, buffer: Any) -> int:
        """Read and count the bytes."""
        count = super().readinto(buffer) or 0
        self.read_count += count
        return count

    def read(self, size: int | None = -1, /) -> bytes:
        """Read and count the bytes."""
        data = super().read(-1 if size is None else size) or b""
        self.read_count += len(data)
        return data


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON; return 1 if the sandbox cannot be used."""
    parser = new_parser("recording", __doc__, rounds=5)
    parser.add_argument("--matches", type=int, default=1000, help="matches of a duel (default 1000)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds = 2
    try:
        with work_folder() as folder, open_sandbox(options.sandbox, options.base_image, folder) as sandbox:
            player = players.lay_out(folder / "player", players.RANDOM)
            samples = take_turns(
                {game: partial(_sample, sandbox, get_spec(game), player, options.matches, folder) for game in GAMES},
                options.rounds,
            )
    except SandboxError as error:
        print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
        return 1
    report = {**summarise(samples, options.matches), **circumstances(options)}
    print(table(report, options))
    write_json(options.json, report)
    return 0


def _sample(sandbox: Sandbox, spec: EnvironmentSpec, player: Path, matches: int, folder: Path) -> Sample:
    duel = play_duel(sandbox, spec, (player, player), matches, spec.parallel_matches)
    path = folder / "records.zip"
    begun = time.perf_counter()
    with path.open("wb") as file:
        write_duel(duel.record, file)
    writing = time.perf_counter() - begun
    opening, replaying = [], []
    read = 0
    for number in range(1, matches + 1, max(1, matches // OPENED)):
        begun = time.perf_counter()
        with CountedFile(path) as counted:
            record = DuelArchive(counted).match(number)
            opened = time.perf_counter()
            read = max(read, counted.read_count)
        if record.actions != duel.record.matches[number - 1].actions:
            raise RuntimeError(f"Match {number} of {spec.slug} differs after it was read back.")
        again = time.perf_counter()
        list(replay(spec, record))
        opening.append(opened - begun)
        replaying.append(time.perf_counter() - again)
    return Sample(
        duel.playing, writing, statistics.median(opening), statistics.median(replaying), path.stat().st_size, read
    )


def summarise(samples: dict[str, list[Sample]], matches: int) -> dict[str, Any]:
    """Return medians by game; `record_fraction` is that of the worst game."""
    fractions = {game: middle([s.writing / s.playing for s in taken], 4) for game, taken in samples.items()}
    return {
        "record_fraction": max(fractions.values()),
        "record_fraction_by_game": fractions,
        "record_us_per_match": {
            g: middle([1e6 * s.writing / matches for s in taken], 1) for g, taken in samples.items()
        },
        "bytes_per_match": {g: middle([s.file_bytes / matches for s in taken], 1) for g, taken in samples.items()},
        "open_match_ms": {g: middle([1000 * s.opening for s in taken]) for g, taken in samples.items()},
        "open_match_read_fraction": {
            g: middle([s.read_bytes / s.file_bytes for s in taken]) for g, taken in samples.items()
        },
        "replay_match_ms": {g: middle([1000 * s.replaying for s in taken]) for g, taken in samples.items()},
    }


def table(report: dict[str, Any], options: argparse.Namespace) -> str:
    """Return the figures as a table."""
    header = ["game", "record / play", "µs a match", "bytes a match", "open one (ms)", "read of file", "replay it (ms)"]
    columns = (
        "record_fraction_by_game", "record_us_per_match", "bytes_per_match", "open_match_ms",
        "open_match_read_fraction", "replay_match_ms",
    )  # fmt: skip
    rows = [[game, *(report[column][game] for column in columns)] for game in report["bytes_per_match"]]
    return (
        f"{text_table(header, rows)}\nRecording a match costs at most {report['record_fraction']:.1%} of playing it; "
        f"one of {options.matches} matches is opened in at most {max(report['open_match_ms'].values())} ms."
    )


if __name__ == "__main__":
    sys.exit(main())
