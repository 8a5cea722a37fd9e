"""`arena replay DUEL/MATCH`: show a match of a site, or where a player here would have moved otherwise."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from arena_kit.cli.common import (
    DONE,
    LABEL,
    NO,
    TRY_LATER,
    BadArgument,
    add_json_option,
    add_sandbox_options,
    chosen_sandbox,
    player_image,
    run_command,
    show,
)
from arena_kit.cli.install import add_install_option, install
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import Client
from arena_kit.client.answers import DuelLine
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.registry import get_spec, use_folder
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.faults import PlatformFault
from arena_kit.referee.shadow import Shadowed, shadow_match
from arena_kit.sandbox.base import Container, Launch, SandboxError

WHICH = re.compile(r"(\d{1,15})/(\d{1,9})", re.ASCII)


def main(arguments: Sequence[str]) -> int:
    """Show or compare a match. Returns 0, or 3 if the player here moves otherwise."""
    options = _parser().parse_args(arguments)
    return run_command(lambda folder: _replay(options, folder), as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena replay",
        description="Show a match of a site in words, or play it again with a player of yours from the record and show "
        "the first move that differs.",
        epilog="Exit code: 0 shown, or every move is the same; 3 a move differs, or you may not see the match; "
        "1 it could not be tried, or the network or the site failed; 2 wrong arguments; 4 log in first.",
    )
    parser.add_argument("match", metavar="DUEL/MATCH", help="the numbers in the address of its page, e.g. 12/3")
    parser.add_argument("--diff", metavar="MY_PLAYER", help="a folder or zip with player.py")
    parser.add_argument("--side", type=int, choices=(1, 2), help="which player it is (default: your own agent)")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="folder with environments of your own")
    add_sandbox_options(parser)
    add_install_option(parser)
    add_site_option(parser)
    add_json_option(parser)
    return parser


def _replay(options: argparse.Namespace, folder: Path) -> int:
    found = WHICH.fullmatch(options.match)
    if found is None:
        raise BadArgument(f"{options.match} is not of the form DUEL/MATCH, e.g. 12/3.")
    duel, number = int(found[1]), int(found[2])
    client = client_of(options)
    if options.diff:
        return _diff(options, client, client.duel(duel), number, folder)
    line, replay = client.duel(duel), client.replay(duel, number)
    parts = [f"{line.players[0]} against {line.players[1]}, match {number}"]
    for text, moves in zip(replay.texts, replay.moves, strict=True):
        played = "; ".join(f"seat {seat} plays {action}" for seat, action in moves)
        parts += [f"\n{played or 'Start'}", text]
    show(options, replay.answer, "\n".join(parts))
    return DONE


def _diff(options: argparse.Namespace, client: Client, duel: DuelLine, number: int, folder: Path) -> int:
    if options.environments is not None:
        use_folder(options.environments)
    player = _side(options, client, duel)
    spec = _spec(duel, client.site)
    record = client.match(duel.id, number)
    if sorted(record.seats) != list(range(spec.seats)):
        raise BadArgument(f"Match {number} does not seat {spec.seats} players.")
    image = player_image(options.diff, options.sandbox, folder / "player")
    required = requirements_of(options.diff, image)
    sandbox = chosen_sandbox(options, folder / "channel")
    counter = itertools.count(1)

    def launch() -> Container:
        name = f"arena-cli-{os.getpid()}-{next(counter)}"
        labels = {LABEL: str(os.getpid())}
        return sandbox.launch(Launch(image, name, limits=spec.limits, labels=labels, packages=packages))

    try:
        sandbox.check()
        packages = install(options.diff, required, options)
        shadowed = shadow_match(spec, launch, record, player=player, limits=spec.limits, clock=time.monotonic)
    except (SandboxError, PlatformFault) as error:
        show(
            options, {"code": error.code, "error": str(error)}, f"It could not be played again ({error.code}): {error}"
        )
        return TRY_LATER
    data = _data(shadowed, record, player)
    show(options, data, _text(shadowed, duel, record, player))
    return DONE if shadowed.difference is None else NO


def _side(options: argparse.Namespace, client: Client, duel: DuelLine) -> int:
    """Return the index of the player that is compared. Raises BadArgument if it is not clear."""
    if options.side is not None:
        return int(options.side) - 1
    if not client.has_token:
        raise BadArgument("Say with --side 1 or --side 2 which player of the match yours is, or log in.")
    name = client.username()
    mine = [player for player, owner in enumerate(duel.owners) if owner == name]
    if len(mine) != 1:
        many = "Both players are yours" if mine else "Neither player is yours"
        raise BadArgument(f"{many}: say with --side 1 or --side 2 which one to compare.")
    return mine[0]


def _spec(duel: DuelLine, site: str) -> EnvironmentSpec:
    """Return the rules that a duel was played by. Raises BadArgument if they are not here."""
    try:
        spec = get_spec(duel.environment)
    except UnknownEnvironment:
        raise BadArgument(
            f"The rules of {duel.environment} are not in this arena-kit. Run `arena pull {duel.environment}`, then add "
            "--environments environments."
        ) from None
    if spec.id != duel.rules:
        raise BadArgument(
            f"The duel was played by {duel.rules}, and this arena-kit has {spec.id}. Install the one that the site "
            f"offers: {site}/kit/"
        )
    return spec


def _data(shadowed: Shadowed, record: MatchRecord, player: int) -> dict[str, object]:
    difference = shadowed.difference
    found: dict[str, object] | None = None
    if difference is not None:
        found = {
            "ply": difference.ply,
            "seat": difference.seat,
            "position": difference.text,
            "played": difference.played,
            "chosen": difference.chosen,
            "error": difference.error,
        }
    return {"match": record.number, "player": player + 1, "same_moves": shadowed.moves, "difference": found}


def _text(shadowed: Shadowed, duel: DuelLine, record: MatchRecord, player: int) -> str:
    head = f"Match {record.number} of duel {duel.id}, as player {player + 1} ({duel.players[player]})"
    difference = shadowed.difference
    if difference is None:
        return f"{head}: all {shadowed.moves} moves are the same."
    played = "a forfeit" if difference.played is None else str(difference.played)
    if not difference.ply:
        return f"{head}: {difference.error}"
    here = difference.error if difference.chosen is None else str(difference.chosen)
    return "\n".join(
        [
            f"{head}: {shadowed.moves} moves are the same, move {difference.ply} differs.",
            "",
            difference.text,
            "",
            f"played then: {played}",
            f"played here: {here}",
        ]
    )
