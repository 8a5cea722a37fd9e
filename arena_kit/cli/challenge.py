"""`arena challenge`: let an agent play unrated duels against another one, or the top ten."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from arena_kit.cli.common import DONE, BadArgument, run_command, show, tell
from arena_kit.cli.follow import challenge_follow
from arena_kit.cli.naming import AGENT_HELP, agent_named
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import Client
from arena_kit.client.answers import Challenge


def main(arguments: Sequence[str]) -> int:
    """Make a challenge. Returns 0 if the site accepted it, with `--follow` if it is over."""
    parser = argparse.ArgumentParser(
        prog="arena challenge",
        description="Let an agent of yours play unrated duels against another agent, or against the top ten.",
        epilog="Exit code: 0 accepted (with --follow: over), 3 refused, 1 the network or the site failed (with "
        "--follow: or a duel failed, or waiting longer does not help), 2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("agent", help=AGENT_HELP)
    parser.add_argument("opponent", nargs="?", default="", help="id of an agent or ENVIRONMENT/AGENT")
    parser.add_argument("--top-ten", action="store_true", help="instead of an opponent")
    parser.add_argument("--follow", action="store_true", help="wait until all duels are over")
    add_site_option(parser)
    return run_command(parser, arguments, lambda options, _: _challenge(options))


def _challenge(options: argparse.Namespace) -> int:
    if bool(options.opponent) == options.top_ten:
        raise BadArgument("Name an opponent, or use --top-ten.")
    client = client_of(options, needs_token=True)
    opponent = _number(client, options.opponent) if options.opponent else None
    challenge = client.challenge_create(agent=_number(client, options.agent), opponent=opponent)
    status = DONE
    if options.follow:
        # Said first: if following fails, this is how to find the challenge again.
        tell(_heading(challenge, client.site))
        challenge, status = challenge_follow(client, challenge.id, tell)
    show(options, challenge.answer, challenge_text(challenge, client.site))
    return status


def _number(client: Client, word: str) -> int:
    agent = agent_named(client, word)
    return agent if isinstance(agent, int) else agent.id


def challenge_text(challenge: Challenge, site: str) -> str:
    """Return a challenge with its duels as lines for a terminal."""
    lines = [_heading(challenge, site)]
    for duel in challenge.duels:
        result = duel.result
        counts = f"{result.won} won, {result.drawn} drawn, {result.lost} lost"
        shown = counts if result.won + result.drawn + result.lost else duel.state.lower()
        lines.append(f"  against {duel.opponent.title}: {shown} (duel {duel.duel})")
    return "\n".join(lines)


def _heading(challenge: Challenge, site: str) -> str:
    return f"Challenge {challenge.id} in {challenge.environment}: {site}/challenges/{challenge.id}/"
