"""How many matches a second a duel takes: the arena's sandbox, one HTTP POST per move, and no isolation at all.

Connect Four between two `dummy` players (first valid action), everything in one run, the ways in turn, medians.
Start-up and tear-down are not part of the figures, for none of the ways.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from benchmarks.http_baseline.servers import (
    KEPT_CONNECTIONS,
    ONE_CONNECTION_A_REQUEST,
    HttpPlayer,
    container_server,
    process_server,
)
from duel_runner.cores import free_core
from duel_runner.referee import Player, pair_seed, run_duel, run_match
from duel_runner.sandbox.base import Container, Launch, Sandbox, SandboxError
from environments.registry import get_spec

SPEC = get_spec("connect-four")
DUMMY = """
class Player:
    def __init__(self, train_mode):
        pass

    def start(self, state, valid_actions):
        return valid_actions[0]

    def step(self, state, valid_actions, prev_reward):
        return valid_actions[0]

    def end(self, state, prev_reward):
        pass
"""
COUNTER = itertools.count(1)


@dataclass(frozen=True)
class Way:
    """One way to play. play: plays that many matches and returns the seconds they took."""

    key: str
    title: str
    matches: int
    play: Callable[[int], float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write JSON when asked; returns 1 when the sandbox cannot be used."""
    options = _parser().parse_args(arguments)
    if options.quick:
        options.matches, options.http_matches, options.rounds = 1000, 6, 3
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-bench-")))
        folder.chmod(0o755)
        player = folder / "player"
        player.mkdir()
        (player / "player.py").write_text(DUMMY)
        try:
            sandbox = _sandbox(options, folder / "c")
            sandbox.check()
            ways = list(_ways(options, sandbox, player, folder, stack))
        except SandboxError as error:
            print(f"{error}\nTo measure local processes instead: --sandbox process", file=sys.stderr)
            return 1
        figures = measure(ways, options.rounds)
    report = {**summarise(figures), **_circumstances(options)}
    print(table(ways, figures, report))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runner", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with rougher figures")
    parser.add_argument("--matches", type=int, default=4000, help="matches of a sample of the arena (default 4000)")
    parser.add_argument("--http-matches", type=int, default=30, help="matches of a sample over HTTP (default 30)")
    parser.add_argument("--rounds", type=int, default=7, help="samples of every way (default 7)")
    parser.add_argument("--parallel", type=int, default=SPEC.parallel_matches,
                        help=f"matches at once (default {SPEC.parallel_matches}, the environment's)")  # fmt: skip
    parser.add_argument("--sandbox", choices=("docker", "process"), default="docker", help="default: docker")
    parser.add_argument("--base-image", default="rl-arena-base", help="image with Python and NumPy")
    return parser


def _sandbox(options: argparse.Namespace, channels: Path) -> Sandbox:
    if options.sandbox == "docker":
        from duel_runner.sandbox.docker import DockerSandbox

        return DockerSandbox(base_image=options.base_image, channel_dir=channels)
    from duel_runner.sandbox.process import ProcessSandbox

    return ProcessSandbox(channels)


def _ways(
    options: argparse.Namespace, sandbox: Sandbox, player: Path, folder: Path, stack: contextlib.ExitStack
) -> Iterator[Way]:
    def arena(parallel: int) -> Callable[[int], float]:
        return lambda matches: play_duel(sandbox, player, matches, parallel)

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
    bare = [_dummy(), _dummy()]
    yield Way("http", f"one HTTP POST per move, Flask in {where}", options.http_matches,
              lambda matches: play_matches(posted, matches))  # fmt: skip
    yield Way("http_keep_alive", "the same over kept connections", options.http_matches,
              lambda matches: play_matches(kept, matches))  # fmt: skip
    yield Way("arena_one_at_a_time", f"arena, {where}, 1 match at a time", options.matches // 4, arena(1))
    yield Way("arena", f"arena, {where}, {options.parallel} matches at once", options.matches, arena(options.parallel))
    yield Way("arena_128", f"arena, {where}, 128 matches at once", options.matches, arena(128))
    yield Way("bare", "no isolation: one process", options.matches // 4, lambda n: play_matches(bare, n))


def _dummy() -> Player:
    names: dict[str, type[Player]] = {}
    exec(DUMMY, names)
    return names["Player"](False)  # type: ignore[call-arg]  # the protocol says nothing of constructors


def play_duel(sandbox: Sandbox, player: Path, matches: int, parallel: int) -> float:
    """Play a duel in the sandbox; return the seconds from the last player's readiness to the last result."""
    marks: list[float] = []

    def launch(_: int) -> Container:
        name = f"arena-bench-{os.getpid()}-{next(COUNTER)}"
        container = sandbox.launch(Launch(f"folder:{player}", name, SPEC.limits, {"arena.bench": name}, core))
        marks[:] = [time.perf_counter()]
        return container

    def on_progress(matches_done: int) -> None:
        if matches_done == matches:
            marks.append(time.perf_counter())

    with free_core(Path(tempfile.gettempdir()) / f"arena-cores-{os.getuid()}") as core:
        duel = run_duel(
            SPEC, launch, names=("one", "two"), seed=7, match_count=matches, parallel_matches=parallel,
            limits=SPEC.limits, clock=time.monotonic, on_progress=on_progress,
        )  # fmt: skip
    if duel.record.summary.errors != (0, 0):
        raise RuntimeError(f"A dummy player failed, the figures mean nothing:\n{duel.log}")
    return marks[1] - marks[0]


def play_matches(players: Sequence[Player], matches: int) -> float:
    """Play matches one after the other in this process, seats alternating; return the seconds."""
    begun = time.perf_counter()
    for number in range(matches):
        seated = players if number % 2 == 0 else players[::-1]
        run_match(SPEC, seated, pair_seed(7, number // 2))
    return time.perf_counter() - begun


def measure(ways: Sequence[Way], rounds: int) -> dict[str, list[float]]:
    """Matches per second of every way, by key; the ways take turns, so that a busy moment meets them all."""
    figures: dict[str, list[float]] = {way.key: [] for way in ways}
    for number in range(1, rounds + 1):
        for way in ways:
            print(f"\rround {number} of {rounds}: {way.title:60}", end="", file=sys.stderr)
            matches = max(2, way.matches)
            figures[way.key].append(matches / way.play(matches))
    print(f"\r{'':90}\r", end="", file=sys.stderr)
    return figures


def summarise(figures: dict[str, list[float]]) -> dict[str, object]:
    """Medians, and the ratios of medians that people ask for."""
    medians = {key: statistics.median(values) for key, values in figures.items()}
    return {
        "matches_per_second": {key: round(value, 2) for key, value in medians.items()},
        "spread": {key: [round(min(values), 2), round(max(values), 2)] for key, values in figures.items()},
        "speedup_http": round(medians["arena"] / medians["http"], 1),
        "speedup_http_keep_alive": round(medians["arena"] / medians["http_keep_alive"], 1),
        "fraction_of_bare": round(medians["arena"] / medians["bare"], 3),
    }


def _circumstances(options: argparse.Namespace) -> dict[str, object]:
    return {
        "environment": SPEC.id,
        "sandbox": options.sandbox,
        "parallel_matches": options.parallel,
        "matches": options.matches,
        "http_matches": options.http_matches,
        "rounds": options.rounds,
        "quick": options.quick,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def table(ways: Sequence[Way], figures: dict[str, list[float]], report: dict[str, object]) -> str:
    """The figures for people."""
    http = statistics.median(figures["http"])
    lines = [f"{'way':58} {'matches/s':>10} {'from':>9} {'to':>9} {'x HTTP':>8}"]
    for way in ways:
        values = figures[way.key]
        middle = statistics.median(values)
        lines.append(f"{way.title:58} {middle:10,.1f} {min(values):9,.1f} {max(values):9,.1f} {middle / http:8,.1f}")
    lines.append(
        f"The arena is {report['speedup_http']} times as fast as one HTTP POST per move, and reaches "
        f"{report['fraction_of_bare']} of no isolation (medians of {report['rounds']} rounds)."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
