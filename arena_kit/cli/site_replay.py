"""`arena replay DUEL/MATCH`: show or write a match of a site, or compare a player here with it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from arena_kit.cli.common import DONE, NO, TRY_LATER, BadArgument, print_json, show
from arena_kit.cli.environments import use_own_environments
from arena_kit.cli.install import install
from arena_kit.cli.local_replay import LocalReplay, write_replay
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.output import output_open
from arena_kit.cli.players import chosen_sandbox, launch_of, player_image, sandbox_check
from arena_kit.cli.sites import client_of
from arena_kit.client import Client
from arena_kit.client.answers import DuelRow
from arena_kit.client.replays import Replay
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.document import ReplayOptions
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.shadow import Shadowed, shadow_match
from arena_kit.sandbox.base import Container
from arena_kit.text import plain_text

WITHOUT_OBSERVATIONS = ReplayOptions(include_observations=False)
"""Observations are of no use in a terminal, and they are most of a document."""
ONE_STATE = ReplayOptions(include_observations=False, include_actions=False, max_frames=1)
"""For what a document says besides the states of the match."""


def replay_site(options: argparse.Namespace, duel: int, number: int, wanted: ReplayOptions) -> int:
    """Show or write a match of a site. Raises BadArgument and SiteError."""
    client = client_of(options)
    if options.html is not None:
        _write_page(options, client, duel, number)
    if options.document is not None:
        compress = options.document.suffix == ".gz"
        with output_open(options.document) as file:
            client.replay_file(duel, number, file, form="json", options=wanted, compress=compress)
    if options.json:
        print_json(client.replay(duel, number, wanted).answer)
    elif options.html is None and options.document is None:
        print(plain_text(in_words(client.replay(duel, number, WITHOUT_OBSERVATIONS))))
    return DONE


def _write_page(options: argparse.Namespace, client: Client, duel: int, number: int) -> None:
    """Write a match as a page: drawn here, or by the site if its rules are not here. Raises BadArgument, SiteError."""
    use_own_environments(options)
    try:
        spec = _spec(client.duel(duel), client.site)
    except BadArgument as why:
        print(f"The site has drawn the page. {why}", file=sys.stderr)
        with output_open(options.html) as file:
            client.replay_file(duel, number, file, form="html")
        return
    shown = client.replay(duel, number, ONE_STATE)
    facts = ReplayFacts(shown.match_id, tuple(ReplayAgent(name, name) for name in shown.names))
    write_replay(LocalReplay(spec, client.match(duel, number), facts), html=options.html)


def in_words(replay: Replay) -> str:
    """Return every state of a replay as text."""
    parts = [f"{' against '.join(replay.names)}, match {replay.number}"]
    for frame in replay.frames:
        verb = "opens with" if frame.is_opening else "plays"
        played = "; ".join(f"{name} {verb} {action}" for name, action in frame.actions)
        parts += [f"\n{frame.number}. {played or 'Start'}", frame.text]
    if replay.is_truncated:
        parts.append("\nThere are more states. Write a page with --html to see the end.")
    return "\n".join(parts)


def compare(options: argparse.Namespace, duel_id: int, number: int, folder: Path) -> int:
    """Play a match of a site again with a player here. Raises BadArgument and SiteError."""
    client = client_of(options)
    duel = client.duel(duel_id)
    use_own_environments(options)
    player = _side(options, client, duel)
    spec = _spec(duel, client.site)
    record = client.match(duel.id, number)
    if spec.seats != 2 or sorted(record.seats) != [0, 1]:
        raise BadArgument(f"Match {number} does not seat 2 players.")
    image = player_image(options.diff, options, folder / "player")
    required = requirements_of(options.diff, image)
    sandbox = chosen_sandbox(options, folder / "channel")

    def launch() -> Container:
        return sandbox.launch(launch_of(image, spec.limits, packages=packages))

    try:
        [image] = sandbox_check(sandbox, image)
        packages = install(options.diff, required, options)
        shadowed = shadow_match(spec, launch, record, player=player, limits=spec.limits, clock=time.monotonic)
    except PlatformFault as error:
        show(
            options, {"code": error.code, "error": str(error)}, f"It could not be played again ({error.code}): {error}"
        )
        return TRY_LATER
    data = _data(shadowed, record, player)
    show(options, data, _text(shadowed, duel, record, player))
    return DONE if shadowed.difference is None else NO


def _side(options: argparse.Namespace, client: Client, duel: DuelRow) -> int:
    """Return the index of the player that is compared. Raises BadArgument if it is not clear."""
    if options.side is not None:
        return int(options.side) - 1
    if not client.has_token:
        raise BadArgument("Say with --side 1 or --side 2 which player of the match yours is, or log in.")
    name = client.username()
    mine = [player for player, agent in enumerate(duel.players) if agent.owner == name]
    if len(mine) != 1:
        many = "Both players are yours" if mine else "Neither player is yours"
        raise BadArgument(f"{many}: say with --side 1 or --side 2 which one to compare.")
    return mine[0]


def _spec(duel: DuelRow, site: str) -> EnvironmentSpec:
    """Return the rules that a duel was played by. Raises BadArgument if they are not here."""
    try:
        spec = get_spec(duel.environment_version)
    except UnknownEnvironment:
        spec = None
    if spec is not None and (spec.id, spec.slug) == (duel.environment_version, duel.environment):
        return spec
    try:
        present = get_spec(duel.environment)
    except UnknownEnvironment:
        raise BadArgument(
            f"The rules of {duel.environment} are not in this arena-kit. Run `arena pull {duel.environment}`, then add "
            "--environments environments."
        ) from None
    raise BadArgument(
        f"The duel was played by {duel.environment_version}, and this arena-kit has {present.id}. Install the one that "
        f"the site offers: {site}/kit/"
    )


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


def _text(shadowed: Shadowed, duel: DuelRow, record: MatchRecord, player: int) -> str:
    head = f"Match {record.number} of duel {duel.id}, as player {player + 1} ({duel.players[player].name})"
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
