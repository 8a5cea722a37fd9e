"""`arena play`: play a duel between two players, without a site or a database."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from arena_kit.cli.common import NO, BadArgument, positive, print_json, run_command
from arena_kit.cli.environments import add_environment_options, chosen_spec
from arena_kit.cli.install import add_install_option, install
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.output import content_write, folder_made, output_check, output_open
from arena_kit.cli.players import (
    add_sandbox_options,
    chosen_sandbox,
    display_name,
    launch_of,
    player_image,
    sandbox_check,
)
from arena_kit.environment.adapters.classic.document import match_result
from arena_kit.environment.local_document import local_document
from arena_kit.environment.openings import check_openings
from arena_kit.environment.records import DuelRecord, Fault, Outcome, record_sha256
from arena_kit.environment.registry import all_specs
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.machine.files import temporary_of_user
from arena_kit.referee.faults import PlayerFault, last_words
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.cores import free_core

PLAYED, NOT_PLAYED = 0, 1
NEITHER_STARTED = "neither_player_started"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play a duel and write its classic document.

    Returns 0 if the duel was played, with any result; 1 if the platform failed; 2 for wrong arguments; 3 if neither
    player started.
    """
    return run_command(_parser(), arguments, lambda options, folder: _play(_spec(options), options, folder))


def _spec(options: argparse.Namespace) -> EnvironmentSpec:
    if options.json and str(options.output) == "-":
        raise BadArgument("Standard output takes one document: leave out --json or --output -.")
    spec = chosen_spec(options)
    if spec.seats == 1:
        raise BadArgument(f"{spec.name} has one seat. Use `arena evaluate`.")
    if options.no_openings and spec.openings is not None:
        return spec.without_openings()
    check_openings(spec)
    return spec


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena play",
        description="Play a duel between two players and write its result.",
        epilog="Exit code: 0 the duel was played, 1 it could not be played, 2 wrong arguments, 3 neither player "
        "started. For environments with one seat see `arena evaluate --help`, for scripts `arena script --help`.",
    )
    parser.add_argument("player_1", help="a folder or zip with player.py, or an image name (sandbox docker)")
    parser.add_argument("player_2", help="the same; may be the same player")
    add_environment_options(parser, (spec.slug for spec in all_specs() if spec.seats == 2))
    parser.add_argument("--matches", type=positive, help="number of matches (default: the environment's)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the duel (default 0)")
    parser.add_argument("--no-openings", action="store_true", help="every match begins at the start position")
    parser.add_argument("--parallel", type=positive, help="matches played at once (default: the environment's)")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write the duel document here, for `arena replay` as well; - for standard output",
    )
    parser.add_argument(
        "--logs", type=Path, metavar="FOLDER", help="write the logs of the players and the referee to this folder"
    )
    add_sandbox_options(parser)
    add_install_option(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    return parser


def _play(spec: EnvironmentSpec, options: argparse.Namespace, folder: Path) -> int:
    match_count = options.matches or spec.matches_per_duel
    parallel = options.parallel or spec.parallel_matches
    given = (options.player_1, options.player_2)
    names = (display_name(options.player_1), display_name(options.player_2))
    if options.output is not None and str(options.output) != "-":
        output_check(options.output)
    if options.logs is not None:
        folder_made(options.logs)
    images = [player_image(player, options, folder / f"player-{index}") for index, player in enumerate(given, start=1)]
    required = [requirements_of(player, image) for player, image in zip(given, images, strict=True)]
    sandbox = chosen_sandbox(options, folder / "channel")
    error, code = "", ""
    cores = temporary_of_user("arena-cores")

    def launch(player: int) -> Container:
        return sandbox.launch(launch_of(images[player], spec.limits, core=core, packages=packages[player]))

    try:
        images = sandbox_check(sandbox, *images)
        packages = [install(player, needs, options) for player, needs in zip(given, required, strict=True)]
        begun = time.monotonic()
        with free_core(cores) as core, _progress(match_count, options.quiet) as show:
            played = run_duel(
                spec,
                launch,
                names=names,
                seed=options.seed,
                match_count=match_count,
                parallel_matches=parallel,
                limits=spec.limits,
                clock=time.monotonic,
                one_core=core is not None,
                on_progress=show,
            )
    except PlatformFault as fault:
        error, code = str(fault), fault.code
        print(f"arena: the duel could not be played ({fault.code}): {fault}", file=sys.stderr)
        played = PlayedDuel(DuelRecord(spec.id, options.seed, names, ()), "", ("", ""), 0.0)
    matches = played.record.matches
    never = {match.faulty_player for match in matches if match.error_code == PlayerFault.DID_NOT_START}
    if never == {0, 1} and all(match.error_code == PlayerFault.DID_NOT_START for match in matches):
        error, code = "Neither player started, so that nothing was played.", NEITHER_STARTED
    _write(spec, played, error, options)
    if options.json:
        print_json({**summary_data(spec, played), "sandbox": options.sandbox, "code": code, "error": error})
    if error and code != NEITHER_STARTED:
        return NOT_PLAYED
    if error or not options.quiet:
        print(summary_text(played, time.monotonic() - begun, error), file=sys.stderr)
    return NO if error else PLAYED


@contextlib.contextmanager
def _progress(match_count: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    # tqdm takes None for "only on a terminal".
    with tqdm(total=match_count, unit=" matches", disable=True if quiet else None, file=sys.stderr) as bar:

        def show(matches_done: int) -> None:
            bar.update(matches_done - bar.n)

        yield show


def _write(spec: EnvironmentSpec, played: PlayedDuel, error: str, options: argparse.Namespace) -> None:
    if str(options.output) == "-":
        sys.stdout.writelines(local_document(spec, played.record, error, sandbox=options.sandbox))
    elif options.output is not None:
        with output_open(options.output) as file:
            document = local_document(spec, played.record, error, sandbox=options.sandbox)
            file.writelines(piece.encode() for piece in document)
    if options.logs is not None:
        for name, text in zip(("player_1", "player_2", "referee"), (*played.player_logs, played.log), strict=True):
            content_write(options.logs / f"{name}.log", text.encode)


def summary_data(spec: EnvironmentSpec, played: PlayedDuel) -> dict[str, object]:
    """Return the result as one JSON object; lists are by player."""
    record, summary = played.record, played.record.summary
    return {
        "environment": spec.id,
        "seed": record.seed,
        "players": list(record.players),
        "outcome": summary.outcome.value,
        "matches": summary.match_count,
        "wins": list(summary.wins),
        "errors": list(summary.errors),
        "draws": summary.draws,
        "scores": list(summary.scores),
        "points": list(summary.points),
        "sha256": record_sha256(record),
    }


def summary_text(played: PlayedDuel, seconds: float, error: str = "") -> str:
    """Return the result as a small table, with the first fault of each player.

    If a fault says little on its own, the last lines that the player printed follow it.
    """
    record, summary = played.record, played.record.summary
    winners = {Outcome.PLAYER_1: "player 1 wins", Outcome.PLAYER_2: "player 2 wins", Outcome.DRAW: "a draw"}
    width = max(8, *(len(name) for name in record.players))
    lines = [f"{'':8}  {'name':{width}}  {'wins':>6}  {'errors':>6}  {'draws':>6}  {'score':>8}  {'points':>6}"]
    for player, name in enumerate(record.players):
        lines.append(
            f"player {player + 1}  {name:{width}}  {summary.wins[player]:>6}  {summary.errors[player]:>6}  "
            f"{summary.draws:>6}  {summary.scores[player]:>8g}  {summary.points[player]:>6}"
        )
    lines.append(error or f"{summary.match_count} matches in {seconds:.1f} s: {winners[summary.outcome]}.")
    if record.distinct_matches is not None:
        lines.append(f"Distinct matches: {record.distinct_matches} of {summary.match_count}.")
    for player in (0, 1):
        faults = (m for m in record.matches if m.fault is Fault.PLAYER and m.faulty_player == player)
        first = next(faults, None)
        if first is not None:
            lines.append(f"First {match_result(first)}, match {first.number} ({first.error_code}): {first.error}")
            lines += last_words(first.error_code, played.player_logs[player])
    return "\n".join(lines)
