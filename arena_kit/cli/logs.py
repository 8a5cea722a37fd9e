"""`arena logs`: show the logs of a version's build, validation and evaluation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from arena_kit.cli.common import DONE, NO, run_command, show
from arena_kit.cli.naming import OWN_VERSION_HELP, version_named
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import Client, SiteError, Trouble

KINDS = ("build", "validation", "evaluation", "publication")
PLAYED = {"validation": (1, 2), "evaluation": (1,)}
"""The kinds whose players print something, and how many players there are."""
HIDDEN = frozenset({Trouble.NOT_ALLOWED, Trouble.MISSING, Trouble.GONE, Trouble.CONFLICT})


def main(arguments: Sequence[str]) -> int:
    """Show the logs of a version. Returns 0, or 3 if the viewer may read none."""
    parser = argparse.ArgumentParser(
        prog="arena logs",
        description="Show the arena's log of each phase of a version, and what the player printed.",
        epilog="Exit code: 0 shown, 3 there is no log that you may read, 1 the network or the site failed, "
        "2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("version", help=OWN_VERSION_HELP)
    parser.add_argument("--kind", choices=KINDS, help="only of this phase")
    add_site_option(parser)
    return run_command(parser, arguments, lambda options, _: _logs(options))


def _logs(options: argparse.Namespace) -> int:
    client = client_of(options)
    version = version_named(client, options.version)
    phases = [phase for phase in version.phases if options.kind in (None, phase.kind)]
    found: dict[str, str] = {}
    refused, code = f"{version.title} has no such phase yet.", "no_such_phase"
    for phase in phases:
        for player in (0, *PLAYED.get(phase.kind, ())):
            name = f"{phase.kind}, player {player}" if player else phase.kind
            try:
                found[name] = _log(client, phase.kind, phase.id, player)
            except SiteError as error:
                if error.trouble not in HIDDEN:
                    raise
                refused, code = str(error), error.code
    text = "\n".join(f"--- {name} ---\n{log.rstrip()}" for name, log in found.items())
    trouble = {} if found else {"code": code, "error": refused}
    show(options, {"id": version.id, "logs": found, **trouble}, text or refused)
    return DONE if found else NO


def _log(client: Client, kind: str, number: int, player: int) -> str:
    return client.player_log(kind, number, player) if player else client.job_log(kind, number)
