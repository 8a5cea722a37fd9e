"""Shared parts of the benchmarks: options, ways that take turns, timed duels, tables."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from arena_kit.environment.records import DuelRecord, MatchRecord
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.folders import own_temporary_folder
from arena_kit.referee.play import PlayedDuel, Player, pair_seed, run_duel, run_match
from arena_kit.sandbox.base import Container, Launch, Sandbox
from arena_kit.sandbox.cores import free_core

BENCH_LABEL = "arena.bench"
"""Label with this process's id, which tells our containers from others on the same engine."""
SEED = 7
COUNTER = itertools.count(1)
Sample = TypeVar("Sample")


def new_parser(module: str, description: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with rougher figures")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"samples of every figure (default {rounds})")
    parser.add_argument("--sandbox", choices=("docker", "process"), default="docker", help="default: docker")
    parser.add_argument("--base-image", default="rl-arena-base", help="image with Python and NumPy")
    return parser


def circumstances(options: argparse.Namespace) -> dict[str, object]:
    """Return the options and the machine, on which the figures depend."""
    kept = {name: value for name, value in vars(options).items() if not isinstance(value, Path)}
    return {**kept, "python": platform.python_version(), "cores": len(os.sched_getaffinity(0))}


@contextlib.contextmanager
def open_sandbox(kind: str, base_image: str, folder: Path) -> Iterator[Sandbox]:
    """Return a usable sandbox. Raises SandboxUnavailable. folder: for channels; sockets need its path to be short."""
    sandbox: Sandbox
    if kind == "docker":
        from arena_kit.sandbox.docker import DockerSandbox

        sandbox = DockerSandbox(base_image=base_image, channel_dir=folder / "docker")
    else:
        from arena_kit.sandbox.process import ProcessSandbox

        sandbox = ProcessSandbox(folder / "process")
    sandbox.check()
    yield sandbox


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """Create a temporary folder that players can read; it is removed after SIGTERM, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with own_temporary_folder("arena-bench-", mode=0o755) as folder:
        yield folder


@contextlib.contextmanager
def pinned() -> Iterator[int | None]:
    """Reserve a core for this process and its players, as a worker does for a duel."""
    with free_core(Path(tempfile.gettempdir()) / f"arena-cores-{os.getuid()}") as core:
        yield core


@dataclass(frozen=True, slots=True)
class TimedDuel:
    """A duel and the seconds of its parts.

    starting: from the first launch to the last. playing: from then to the last result. ending: until all is removed.
    """

    record: DuelRecord
    player_logs: tuple[str, str]
    starting: float
    playing: float
    ending: float


def play_duel(
    sandbox: Sandbox,
    spec: EnvironmentSpec,
    players: Sequence[Path],
    matches: int,
    parallel: int,
    *,
    may_fail: bool = False,
    on_core: Callable[[int | None], None] | None = None,
) -> TimedDuel:
    """Play a duel between two folders in a sandbox, on one core as a worker does.

    on_core: called with the duel's core before its players are started.
    Raises RuntimeError if a player fails, unless `may_fail`.
    """
    marks: list[float] = []

    def launch(player: int) -> Container:
        name = f"arena-bench-{os.getpid()}-{next(COUNTER)}"
        labels = {BENCH_LABEL: str(os.getpid())}
        container = sandbox.launch(Launch(f"folder:{players[player]}", name, spec.limits, labels, core))
        marks[:] = [time.perf_counter()]
        return container

    def on_progress(matches_done: int) -> None:
        if matches_done == matches:
            marks.append(time.perf_counter())

    with pinned() as core:
        if on_core:
            on_core(core)
        begun = time.perf_counter()
        duel = run_duel(
            spec, launch, names=("one", "two"), seed=SEED, match_count=matches, parallel_matches=parallel,
            limits=spec.limits, clock=time.monotonic, one_core=core is not None,
            on_progress=on_progress,
        )  # fmt: skip
        ended = time.perf_counter()
    if not may_fail:
        _refuse_faults(duel)
    return TimedDuel(duel.record, duel.player_logs, marks[0] - begun, marks[1] - marks[0], ended - marks[1])


def _refuse_faults(duel: PlayedDuel) -> None:
    if duel.record.summary.errors == (0, 0):
        return
    errors = sorted({match.error for match in duel.record.matches if match.error})
    raise RuntimeError(f"A player failed, so the figures are worthless: {' '.join(errors)}\n{duel.log}")


def play_bare(
    spec: EnvironmentSpec, players: Sequence[Player], matches: int, seed: int = SEED
) -> tuple[float, list[MatchRecord]]:
    """Play matches in sequence in this process, with alternating seats; return seconds and records."""
    begun = time.perf_counter()
    records = [
        run_match(spec, players if number % 2 == 0 else players[::-1], pair_seed(seed, number // 2))
        for number in range(matches)
    ]
    return time.perf_counter() - begun, records


def take_turns(samples: Mapping[str, Callable[[], Sample]], rounds: int) -> dict[str, list[Sample]]:
    """Take a sample of every way in each round, so that a busy moment of the machine affects all ways."""
    taken: dict[str, list[Sample]] = {title: [] for title in samples}
    for number in range(1, rounds + 1):
        for title, take in samples.items():
            say(f"round {number} of {rounds}: {title}")
            taken[title].append(take())
    say("")
    return taken


def say(text: str) -> None:
    """Print a line to the terminal that the next one overwrites."""
    if sys.stderr.isatty():
        print(f"\r{text:90.90}", end="" if text else "\r", file=sys.stderr, flush=True)


def middle(values: Sequence[float], digits: int = 3) -> float:
    """The median."""
    return round(statistics.median(values), digits)


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table for people: the first column aligned to the left, figures to the right."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_json(path: Path | None, report: Mapping[str, object]) -> None:
    """Write the figures if a file was asked for."""
    if path is not None:
        path.write_text(json.dumps(report, indent=2) + "\n")
