"""`arena ladder`: play all agents of a folder against each other and write one static report."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tqdm import tqdm

from arena_kit.cli.common import (
    DONE,
    NO,
    TRY_LATER,
    BadArgument,
    positive,
    run_command,
    show,
    tell,
)
from arena_kit.cli.environments import add_environment_options, chosen_spec
from arena_kit.cli.install import add_install_option, install
from arena_kit.cli.ladder_report import ReportRow, report_html
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.output import content_write, output_check
from arena_kit.cli.players import add_sandbox_options, chosen_sandbox, launch_of, player_image
from arena_kit.environment.records import DuelRecord
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault, parts_needed
from arena_kit.machine.files import temporary_of_user
from arena_kit.referee.play import run_duel
from arena_kit.sandbox.base import Container, Sandbox
from arena_kit.sandbox.cores import free_core
from arena_kit.upload.archive import PLAYER_ENTRY_POINTS

MOST_AGENTS = 64
"""A round robin of more agents would take days."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """An agent of the folder. packages: what `Launch.packages` takes."""

    name: str
    image: str
    packages: str


def main(arguments: Sequence[str]) -> int:
    """Play a round robin. Returns 0, or 3 if an agent forfeited any match."""
    return run_command(_parser(), arguments, _ladder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena ladder",
        description="Play every agent of a folder (a folder or a zip each) against every other one, and write one HTML "
        "file with ratings, their 95%% intervals, a cross table and replays.",
        epilog="Exit code: 0 played, 3 played and an agent forfeited, 1 it could not be played, 2 wrong arguments.",
    )
    parser.add_argument("folder", type=Path, help="a folder that holds agents")
    add_environment_options(parser, (spec.slug for spec in all_specs() if spec.seats == 2))
    parser.add_argument("--matches", type=positive, default=20, help="matches of each duel, even (default 20)")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the first duel; the others count up from it, or share it where matches begin with openings",
    )
    parser.add_argument("--output", type=Path, default=Path("ladder.html"), metavar="FILE", help="default ladder.html")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    add_sandbox_options(parser)
    add_install_option(parser)
    return parser


def _ladder(options: argparse.Namespace, folder: Path) -> int:
    spec = chosen_spec(options)
    if spec.seats != 2:
        raise BadArgument(f"{spec.name} has no duels: its number of seats is {spec.seats}. Use `arena evaluate`.")
    if options.matches % 2:
        raise BadArgument("The number of matches must be even, because the players swap seats within each pair.")
    output_check(options.output)
    found = agents_in(options.folder)
    rank = _ranking()
    try:
        sandbox = chosen_sandbox(options, folder / "channel")
        sandbox.check()
        entrants = [_entrant(path, folder / f"agent-{number}", options) for number, path in enumerate(found)]
        records = _play_all(spec, entrants, sandbox, options)
    except PlatformFault as error:
        trouble = {"code": error.code, "error": str(error)}
        show(options, trouble, f"The ladder could not be played ({error.code}): {error}")
        return TRY_LATER
    rows = rank([entrant.name for entrant in entrants], records)
    content_write(options.output, lambda: report_html(spec, rows, records).encode())
    data = {"environment": spec.id, "report": str(options.output), "rows": [row.as_json() for row in rows]}
    show(options, data, f"{ladder_text(rows)}\nThe report is in {options.output}.")
    return NO if any(row.forfeits for row in rows) else DONE


def agents_in(folder: Path) -> list[Path]:
    """Return the agents of a folder by name: folders with an entry point, and zips. Raises BadArgument."""
    if not folder.is_dir():
        raise BadArgument(f"There is no folder {folder}.")
    found = [
        path
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
        and (path.suffix == ".zip" or any((path / name).is_file() for name in PLAYER_ENTRY_POINTS))
    ]
    if not 2 <= len(found) <= MOST_AGENTS:
        raise BadArgument(
            f"{folder} holds {len(found)} agents (folders with player.py, and zips); from 2 to {MOST_AGENTS} can play."
        )
    by_name: dict[str, Path] = {}
    for path in found:
        if (other := by_name.setdefault(_name(path), path)) != path:
            raise BadArgument(f"{other} and {path} would have the same name in the table. Rename one of them.")
    return found


def _name(path: Path) -> str:
    return path.name.removesuffix(".zip")


def _ranking() -> Callable[[Sequence[str], Sequence[DuelRecord]], list[ReportRow]]:
    """Return the function that ranks, which needs an extra. Raises BadArgument before anything is played."""
    try:
        # Late: SciPy takes long to load.
        from arena_kit.cli.ladder_ranking import ranked
    except ModuleNotFoundError as error:
        if error.name not in ("scipy", "networkx"):
            raise
        raise BadArgument(f"Ratings need the Python package {error.name}: {parts_needed('ranking')}.") from None
    return ranked


def _entrant(path: Path, unpacked: Path, options: argparse.Namespace) -> Entrant:
    image = player_image(str(path), options, unpacked)
    packages = install(str(path), requirements_of(str(path), image), options)
    return Entrant(_name(path), image, packages)


def _play_all(
    spec: EnvironmentSpec, entrants: Sequence[Entrant], sandbox: Sandbox, options: argparse.Namespace
) -> list[DuelRecord]:
    """Play every pair once. Raises PlatformFault."""
    pairs = list(itertools.combinations(entrants, 2))
    cores = temporary_of_user("arena-cores")
    records = []
    with (
        free_core(cores) as core,
        tqdm(
            total=len(pairs) * options.matches,
            unit=" matches",
            disable=True if options.quiet else None,
            file=sys.stderr,
        ) as bar,
    ):
        for number, pair in enumerate(pairs):

            def launch(player: int, pair: tuple[Entrant, Entrant] = pair) -> Container:
                one = pair[player]
                return sandbox.launch(launch_of(one.image, spec.limits, core=core, packages=one.packages))

            played = run_duel(
                spec,
                launch,
                names=(pair[0].name, pair[1].name),
                # As in an edition of a site: duels that share their openings compare the agents best.
                seed=options.seed if spec.openings else options.seed + number,
                match_count=options.matches,
                parallel_matches=spec.parallel_matches,
                limits=spec.limits,
                clock=time.monotonic,
                one_core=core is not None,
                on_progress=partial(_advance, bar, bar.n),
            )
            records.append(played.record)
            for player, errors in enumerate(played.record.summary.errors):
                if errors:
                    tell(f"{pair[player].name} forfeited {errors} matches against {pair[1 - player].name}.")
    return records


def _advance(bar: tqdm, before: float, done: int) -> None:  # type: ignore[type-arg]  # as in arena_kit.cli.check
    bar.update(before + done - bar.n)


def ladder_text(rows: Sequence[ReportRow]) -> str:
    """Return the table for a terminal."""
    width = max(5, *(len(row.name) for row in rows))
    lines = [f"rank  {'agent':{width}}  rating  95% interval   points  forfeits"]
    lines += [
        f"{row.rank:>4}  {row.name:{width}}  {row.rating:>6.0f}  {row.low:>5.0f} to {row.high:<5.0f}"
        f"  {row.points:>6g}  {row.forfeits:>8}"
        for row in rows
    ]
    return "\n".join(lines)
