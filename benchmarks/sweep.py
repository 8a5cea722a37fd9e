"""`python -m benchmarks.runner --sweep`: speed by sandbox, game and matches at once, other ways, and costs."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.sandbox.base import Sandbox
from benchmarks import pixels, players
from benchmarks.common import (
    Panel,
    circumstances,
    count_moves,
    middle,
    open_sandbox,
    pinned,
    play_bare,
    play_duel,
    take_turns,
    text_table,
)
from benchmarks.memory import own_bytes, players_bytes
from benchmarks.ways import SPEC, Way, baselines

GAMES = ("connect-four", "tic-tac-toe", "quarto")
PARALLEL = (1, 8, 32, 128)
NONE = "none"
LEVELS = {NONE: "no isolation", "http": "HTTP POST per move", "kaggle": "Kaggle's library"}
"""Ways that play one match at a time, drawn as levels to compare with."""
THINKING_SECONDS = 0.005
NETWORK_MEBIBYTES = 50.0
Figures = dict[str, Any]
"""A value that can become JSON."""


@dataclass(frozen=True, slots=True)
class Case:
    """A player whose cost is measured, and how it is played."""

    spec: EnvironmentSpec
    player: Path
    matches: int
    parallel: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only a sweep has."""
    parser.add_argument("--sweep", action="store_true", help="measure sandboxes, games and costs instead")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the sweep (needs --sweep)")


def measure(options: argparse.Namespace, folder: Path) -> tuple[Figures, str]:
    """Return all figures of a sweep and their tables. --sandbox process leaves out containers."""
    rounds = min(options.rounds, 3)
    with contextlib.ExitStack() as stack:
        kinds = ("docker", "process") if options.sandbox == "docker" else ("process",)
        sandboxes = {kind: stack.enter_context(open_sandbox(kind, options.base_image, folder)) for kind in kinds}
        player = players.lay_out(folder / "dummy", players.DUMMY)
        others = [way for way in baselines(options, player, folder, stack) if way.key in LEVELS]
        report = {
            "speed": _speed(sandboxes, others, options, player, rounds),
            "startup": {kind: _startup(sandbox, folder, kind, 3) for kind, sandbox in sandboxes.items()},
            # Measured before large players are loaded into this process.
            "referee_bytes": own_bytes(os.getpid()),
            **_costs(sandboxes, options, folder, rounds),
            **circumstances(options),
        }
    return report, tables(report)


def _speed(
    sandboxes: Mapping[str, Sandbox], others: Sequence[Way], options: argparse.Namespace, player: Path, rounds: int
) -> list[Figures]:
    """Return one row per way or sandbox, game, and matches at once."""
    parallels = PARALLEL[::2] if options.quick else PARALLEL
    _, _, moves_of_match = _bare(SPEC, player, 1)
    samples: dict[str, Callable[[], tuple[float, int, int]]] = {
        f"{way.key} {SPEC.slug} 1": partial(_other, way, moves_of_match) for way in others
    }
    for game in GAMES:
        spec = get_spec(game)
        few = max(2, options.matches // 4)
        samples[f"{NONE} {game} 1"] = partial(_bare, spec, player, few)
        for kind, sandbox in sandboxes.items():
            for parallel in parallels:
                matches = few if parallel == 1 else max(2, options.matches)
                samples[f"{kind} {game} {parallel}"] = partial(_duel, sandbox, spec, player, matches, parallel)
    rows = []
    for title, taken in take_turns(samples, rounds).items():
        kind, game, at_once = title.split()
        rows.append({
            "sandbox": kind, "game": game, "parallel_matches": int(at_once),
            "matches_per_second": middle([matches / seconds for seconds, matches, _ in taken], 1),
            "moves_per_second": middle([moves / seconds for seconds, _, moves in taken], 0),
        })  # fmt: skip
    return rows


def _other(way: Way, moves_of_match: int) -> tuple[float, int, int]:
    return way.play(way.matches), way.matches, way.matches * moves_of_match


def _duel(sandbox: Sandbox, spec: EnvironmentSpec, player: Path, matches: int, parallel: int) -> tuple[float, int, int]:
    duel = play_duel(sandbox, spec, (player, player), matches, parallel)
    return duel.playing, matches, duel.moves


def _bare(spec: EnvironmentSpec, player: Path, matches: int) -> tuple[float, int, int]:
    with pinned():
        seconds, records = play_bare(spec, [players.load(player), players.load(player)], matches)
    return seconds, matches, count_moves(records)


def _startup(sandbox: Sandbox, folder: Path, kind: str, again: int) -> Figures:
    """Return the start-up seconds of a duel between NumPy players: for new players, and for the same ones again."""
    spec = get_spec("tic-tac-toe-v1")
    source = players.LINEAR.format(seed=1, actions=9, size=10)
    player = players.lay_out(folder / f"linear-{kind}", source)
    first, *later = [play_duel(sandbox, spec, (player, player), 2, 2) for _ in range(1 + again)]
    return {
        "first_ready_seconds": middle([first.starting + first.playing]),
        "ready_seconds": middle([duel.starting + duel.playing for duel in later]),
        "removal_seconds": middle([duel.ending for duel in later]),
    }


def _costs(sandboxes: Mapping[str, Sandbox], options: argparse.Namespace, folder: Path, rounds: int) -> Figures:
    """Measure thinking players, large players, large observations, and memory."""
    few = min(10, max(2, options.matches // 400))
    dummy = folder / "dummy"
    thinker = players.lay_out(folder / "thinker", players.THINKER.format(seconds=THINKING_SECONDS))
    network = players.lay_out_network(folder / "network", NETWORK_MEBIBYTES)
    cases = {
        "dummy": Case(SPEC, dummy, 40 * few, 32),
        "network": Case(SPEC, network, 4 * few, 32),
        "pixels": Case(pixels.SPEC, dummy, 40 * few, 32),
    }
    memory: dict[str, int] = {}
    samples = {f"{NONE} {which}": partial(_bare_move, case) for which, case in cases.items()} | {
        f"{kind} {which}": partial(_move, sandbox, case, memory, f"{kind} {which}")
        for kind, sandbox in sandboxes.items()
        for which, case in cases.items()
    }
    seconds = {title: middle(taken, 7) for title, taken in take_turns(samples, rounds).items()}
    thinking = take_turns(
        {kind: partial(_overhead, sandbox, thinker, few) for kind, sandbox in sandboxes.items()}, rounds
    )
    main = next(iter(sandboxes))
    return {
        "runner_overhead_5ms": middle(thinking[main], 4),
        "network_fraction_of_bare": round(seconds[f"{NONE} network"] / seconds[f"{main} network"], 3),
        "pixels_fraction_of_bare": round(seconds[f"{NONE} pixels"] / seconds[f"{main} pixels"], 3),
        "pixels_megabytes_per_second": round(pixels.PICTURE_BYTES / seconds[f"{main} pixels"] / 1e6, 1),
        "seconds_per_move": seconds,
        "memory_bytes": memory,
    }


def _move(sandbox: Sandbox, case: Case, memory: dict[str, int], title: str) -> float:
    """Return the seconds per move in a sandbox; store the memory of the players."""
    pair = (case.player, case.player)

    def note() -> None:
        memory[title] = players_bytes(sandbox.name)

    duel = play_duel(sandbox, case.spec, pair, case.matches, case.parallel, on_half=note)
    return duel.playing / duel.moves


def _overhead(sandbox: Sandbox, thinker: Path, matches: int) -> float:
    """Return the time that the runner adds, as a fraction of the players' thinking time, one match at a time."""
    duel = play_duel(sandbox, SPEC, (thinker, thinker), matches, 1)
    return duel.playing / sum(float(log.split()[-1]) for log in duel.player_logs) - 1


def _bare_move(case: Case) -> float:
    seconds, _, moves = _bare(case.spec, case.player, case.matches)
    return seconds / moves


def tables(report: Mapping[str, Any]) -> str:
    """Return the figures as tables."""
    speed = text_table(
        ["sandbox", "game", "at once", "matches/s", "moves/s"], [list(row.values()) for row in report["speed"]]
    )
    startup = text_table(
        ["start-up of a duel (s)", "new players", "again", "removal"],
        [[kind, *row.values()] for kind, row in report["startup"].items()],
    )
    moves = text_table(
        ["ms per move", "ms"], [[title, 1000 * value] for title, value in report["seconds_per_move"].items()]
    )
    memory = text_table(
        ["players of a duel", "MB"],
        [[title, value / 1e6] for title, value in report["memory_bytes"].items()],
    )
    words = (
        f"A player that thinks 5 ms: the runner adds {report['runner_overhead_5ms']:.1%}. "
        f"A 50 MB network reaches {report['network_fraction_of_bare']} of no isolation. "
        f"Pictures of 84 x 84 x 4: {report['pixels_megabytes_per_second']} MB/s, "
        f"{report['pixels_fraction_of_bare']} of no isolation. "
        f"The referee's process holds {report['referee_bytes'] / 1e6:.0f} MB."
    )
    return f"{speed}\n\n{startup}\n\n{moves}\n\n{memory}\n\n{words}"


def panels(report: Mapping[str, Any]) -> list[Panel]:
    """Return diagrams of moves and matches per second over matches at once, one per game."""
    return list(_panels(report["speed"]))


def _panels(rows: Sequence[Mapping[str, Any]]) -> Iterator[Panel]:
    for unit in ("matches", "moves"):
        for game in GAMES:
            lines: dict[str, list[tuple[float, float]]] = {}
            levels: dict[str, float] = {}
            for row in rows:
                value = row[f"{unit}_per_second"]
                if row["game"] == game and row["sandbox"] in LEVELS:
                    levels[LEVELS[row["sandbox"]]] = value
                elif row["game"] == game:
                    lines.setdefault(row["sandbox"], []).append((row["parallel_matches"], value))
            title = f"{game}: {unit} per second"
            yield Panel(title, "matches at once", f"{unit}/s", lines, logarithmic=True, levels=levels)
