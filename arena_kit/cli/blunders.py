"""`arena blunders`: the positions in which an agent gave something away, and whether a folder finds the moves."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from arena_kit.analysis.drill import Drilled, move_at
from arena_kit.cli.common import DONE, NO, TRY_LATER, BadArgument, run_command, show
from arena_kit.cli.environments import add_folder_option, use_own_environments
from arena_kit.cli.install import add_install_option, install
from arena_kit.cli.naming import AGENT_HELP, agent_named
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.players import add_sandbox_options, chosen_sandbox, launch_of, player_image, sandbox_check
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import SiteError
from arena_kit.client.answers import BlunderList, BlunderRow
from arena_kit.client.decoding import decode
from arena_kit.environment.registry import get_spec
from arena_kit.errors import PlatformFault
from arena_kit.sandbox.base import Container, Sandbox

WORDS = {True: "found", False: "missed", None: "not solved"}


def main(arguments: Sequence[str]) -> int:
    """Show positions, or ask a player in them. Returns 0, or 3 if the player misses one."""
    parser = argparse.ArgumentParser(
        prog="arena blunders",
        description="Show the positions in which versions of your agent gave something away, and which versions find "
        "a move that holds. With --player, ask a folder or zip for its moves there.",
        epilog="Exit code: 0 shown, or all found; 3 the player misses a position, or the agent is not yours; "
        "1 the network, the site or the platform failed, 2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("agent", help=f"{AGENT_HELP}; or a file that `arena blunders --json` has printed")
    parser.add_argument("--player", metavar="PLAYER", help="a folder or a zip to ask")
    add_folder_option(parser)
    add_site_option(parser)
    add_sandbox_options(parser)
    add_install_option(parser)
    return run_command(parser, arguments, _blunders)


def _blunders(options: argparse.Namespace, folder: Path) -> int:
    found = _of_file(Path(options.agent)) if Path(options.agent).is_file() else _of_site(options)
    if options.player is None:
        show(options, found.answer, blunders_text(found))
        return DONE
    use_own_environments(options)
    try:
        answers = _drill(options, [row for row in found.blunders if row.holding], folder)
    except PlatformFault as error:
        show(options, {"code": error.code, "error": str(error)}, f"It could not be tried ({error.code}): {error}")
        return TRY_LATER
    missed = sum(one.is_found is False for _, one in answers)
    data = {
        "found": sum(one.is_found is True for _, one in answers),
        "missed": missed,
        "answers": [{"id": row.id, **asdict(one)} for row, one in answers],
    }
    show(options, data, _answers_text(answers))
    return NO if missed else DONE


def _of_site(options: argparse.Namespace) -> BlunderList:
    client = client_of(options, needs_token=True)
    agent = agent_named(client, options.agent)
    return client.blunders(agent if isinstance(agent, int) else agent.id)


def _of_file(path: Path) -> BlunderList:
    """Read what the command has printed. Raises BadArgument."""
    try:
        return decode(BlunderList, json.loads(path.read_text(encoding="utf-8")), "the file")
    except (OSError, ValueError, SiteError):
        raise BadArgument(f"{path} is no list of positions, as `arena blunders --json` prints it.") from None


def _drill(options: argparse.Namespace, rows: Sequence[BlunderRow], folder: Path) -> list[tuple[BlunderRow, Drilled]]:
    """Ask the player in all positions. Raises BadArgument, ArenaEnvironmentError, PlatformFault and SandboxError."""
    image = player_image(options.player, options, folder / "player")
    sandbox = chosen_sandbox(options, folder / "channel")
    [image] = sandbox_check(sandbox, image)
    packages = install(options.player, requirements_of(options.player, image), options)
    return [(row, _asked(row, sandbox, image, packages)) for row in rows]


def _asked(row: BlunderRow, sandbox: Sandbox, image: str, packages: str) -> Drilled:
    spec = get_spec(row.environment_version)

    def launch() -> Container:
        return sandbox.launch(launch_of(image, spec.limits, packages=packages))

    return move_at(spec, launch, row.blunder, limits=spec.limits, clock=time.monotonic)


def blunders_text(found: BlunderList) -> str:
    """Return positions as lines for a terminal."""
    if not found.blunders:
        return "There are no positions yet: no analysis has found a mistake."
    return "\n".join(f"{row.id:>6}  {row.sentence}\n        {_versions(row)}" for row in found.blunders)


def _versions(row: BlunderRow) -> str:
    found, missed = (", ".join(f"v{number}" for number in one) for one in (row.found_by, row.missed_by))
    return f"found by {found}, missed by {missed}" if found else f"missed by {missed}"


def _answers_text(answers: Sequence[tuple[BlunderRow, Drilled]]) -> str:
    lines = [f"{row.id:>6}  {WORDS[one.is_found]}  {one.error or row.sentence}" for row, one in answers]
    return "\n".join([*lines, f"Found {sum(one.is_found is True for _, one in answers)} of {len(answers)}."])
