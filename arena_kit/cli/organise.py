"""`arena organise`: plan and run tournaments of a site, with the rights that an account has on its pages."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from arena_kit.cli.common import DONE, BadArgument, run_command, show
from arena_kit.cli.naming import AGENT_HELP, agent_named
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client import Client

MOST_BYTES = 1 << 20
"""The largest plan that is read."""
ACTS = {
    "plan": "FILE: plan the tournament that a file in YAML or JSON describes, with the keys of the API",
    "register": "TOURNAMENT AGENT: register an agent of yours",
    "withdraw": "TOURNAMENT AGENT: withdraw it again",
    "do": "TOURNAMENT ACT: what a button of its page does, e.g. begin_now, release or void_round; or of an agent's, "
    "e.g. evaluate_again",
    "table": "TOURNAMENT: print its table as CSV",
}
COLUMNS = ("rank", "agent", "version", "points", "wins", "draws", "losses", "total_score")
SCORED = ("rank", "agent", "version", "score", "score_low", "score_high")
"""The columns where participants play alone."""


def main(arguments: Sequence[str]) -> int:
    """Do one act. Returns 0 if the site has done it."""
    parser = argparse.ArgumentParser(
        prog="arena organise",
        description="Plan and run tournaments, with the rights that your account has on the pages of the site.",
        epilog="Exit code: 0 done, 3 refused, 1 the network or the site failed, 2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("act", choices=ACTS, help="; ".join(f"{act} {words}" for act, words in ACTS.items()))
    parser.add_argument("of", metavar="what", help="id of a tournament; of plan a file")
    parser.add_argument("more", nargs="?", default="", help="of do an act, of register and withdraw an agent")
    parser.add_argument("--reason", default="", help="for acts that ask for one")
    parser.add_argument("--round", type=int, help="number of the round to reveal or to void")
    parser.add_argument("--agent", help=f"for acts on a participant: {AGENT_HELP}")
    add_site_option(parser)
    return run_command(parser, arguments, lambda options, _: _organise(options))


def _organise(options: argparse.Namespace) -> int:
    if bool(options.more) != (options.act in ("do", "register", "withdraw")):
        raise BadArgument(f"`arena organise {options.act}` takes {ACTS[options.act]}.")
    plan = _plan(Path(options.of)) if options.act == "plan" else {}
    client = client_of(options, needs_token=True)
    if options.act == "plan":
        made = client.tournament_plan(plan)
        show(options, made, f"Tournament {made.get('id')} is planned.")
        return DONE
    number = _number(options.of)
    if options.act == "table":
        rows = list(client.participants(number))
        show(options, {"participants": rows}, _table(rows))
    elif options.act == "do":
        agent = _agent(client, options.agent) if options.agent else None
        answers = {"reason": options.reason or None, "number": options.round, "agent": agent}
        given = {key: one for key, one in answers.items() if one is not None}
        done = client.tournament_act(number, options.more, given)
        show(options, done, str(done.get("detail", "")))
    else:
        agent = _agent(client, options.more)
        is_in = options.act == "register"
        (client.registration_create if is_in else client.registration_delete)(number, agent)
        show(options, {"agent": agent, "is_registered": is_in}, f"It is {'registered' if is_in else 'withdrawn'}.")
    return DONE


def _plan(file: Path) -> Mapping[str, object]:
    """Return the plan in a file. Raises BadArgument."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        found = yaml.safe_load(data) if len(data) <= MOST_BYTES else None
    except OSError as error:
        raise BadArgument(f"{file} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise BadArgument(f"{file} is neither YAML nor JSON.") from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise BadArgument(f"{file} is no plan: it needs keys with values, such as `environment: connect-four`.")
    # YAML reads times as such; JSON has texts.
    return {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in found.items()}


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 18):
        raise BadArgument(f"{word!r} is no id of a tournament; the API and its pages name it.")
    return int(word)


def _agent(client: Client, word: str) -> int:
    agent = agent_named(client, word)
    return agent if isinstance(agent, int) else agent.id


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    written = io.StringIO()
    # With neither duels nor scores yet, there is no rank in a tournament by score alone.
    plays_alone = all(row.get("score") is not None or row.get("rank") is None for row in rows)
    table = csv.DictWriter(
        written, SCORED if plays_alone and rows else COLUMNS, extrasaction="ignore", lineterminator="\n"
    )
    table.writeheader()
    for row in rows:
        version = row.get("submission")
        named = version if isinstance(version, dict) else {}
        agent = named.get("agent")
        name = agent.get("name") if isinstance(agent, dict) else agent
        table.writerow({**row, "agent": name, "version": named.get("number")})
    return written.getvalue().rstrip("\n")
