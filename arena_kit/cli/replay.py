"""`arena replay`: show a match of a file or of a site, write its replay, or compare a player with it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from arena_kit.analysis.positions import solve_match
from arena_kit.analysis.sentences import story
from arena_kit.cli.common import DONE, BadArgument, positive, run_command, show
from arena_kit.cli.environments import add_folder_option, use_own_environments
from arena_kit.cli.install import add_install_option
from arena_kit.cli.local_replay import read_replay, replay_local
from arena_kit.cli.players import add_sandbox_options
from arena_kit.cli.site_replay import compare, replay_site
from arena_kit.cli.sites import add_site_option
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.document import MAX_FRAMES, ReplayOptions
from arena_kit.text import plain_text

WHICH = re.compile(r"(\d{1,15})/(\d{1,9})", re.ASCII)


def main(arguments: Sequence[str]) -> int:
    """Show, write or compare a match. Returns 0, or 3 if the player here moves otherwise."""
    return run_command(_parser(), arguments, _replay)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena replay",
        description="Show a match in words, write it as a page to watch or as a document for programs, or play it "
        "again with a player of yours and show the first move that differs.",
        epilog="Exit code: 0 done, or every move is the same; 3 a move differs, or you may not see the match; "
        "1 it could not be tried, or the network or the site failed; 2 wrong arguments, or a file that cannot be "
        "replayed here; 4 log in first.",
    )
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="a file that `arena play --output` or `arena evaluate --records` "
        "wrote, or records downloaded from a site; or DUEL/MATCH of a site, as in the address of its "
        "page, e.g. 12/3",
    )
    parser.add_argument("--match", "--episode", type=positive, metavar="N", help="its number in a file (default 1)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page that works without a network")
    parser.add_argument("--document", type=Path, metavar="FILE", help="write the JSON document; .gz compresses it")
    document = "(--document, --json)"
    parser.add_argument("--no-observations", action="store_true", help=f"leave out what each seat saw {document}")
    parser.add_argument("--no-actions", action="store_true", help=f"leave out what each seat played {document}")
    parser.add_argument(
        "--max-frames",
        type=positive,
        default=MAX_FRAMES,
        metavar="N",
        help=f"at most this many states {document}, default {MAX_FRAMES}",
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help="say who could have forced a win after each move, and which moves gave it away (files only)",
    )
    parser.add_argument("--diff", metavar="MY_PLAYER", help="a folder or zip with player.py (DUEL/MATCH only)")
    parser.add_argument("--side", type=int, choices=(1, 2), help="which player it is (default: your own agent)")
    add_folder_option(parser)
    add_sandbox_options(parser)
    add_install_option(parser)
    add_site_option(parser)
    return parser


def _replay(options: argparse.Namespace, folder: Path) -> int:
    wanted = ReplayOptions(not options.no_observations, not options.no_actions, min(options.max_frames, MAX_FRAMES))
    writes = options.html is not None or options.document is not None
    if options.diff and writes:
        raise BadArgument("--diff writes no replay: leave out --html and --document.")
    path, of_site = Path(options.what), WHICH.fullmatch(options.what)
    if path.exists() and (path.is_file() or of_site is None):
        if options.diff:
            raise BadArgument("--diff compares a player with a match of a site: give DUEL/MATCH, e.g. 12/3.")
        if options.why:
            return _why(options)
        return replay_local(options, wanted)
    if options.why:
        raise BadArgument("--why is for files: download the records of the duel, or read the match's page.")
    if of_site is None:
        raise BadArgument(f"There is no file {options.what}, and it is not of the form DUEL/MATCH, e.g. 12/3.")
    if options.match is not None:
        raise BadArgument("--match is for files; the number of a site's match is behind the slash of DUEL/MATCH.")
    duel, number = int(of_site[1]), int(of_site[2])
    if options.diff:
        return compare(options, duel, number, folder)
    return replay_site(options, duel, number, wanted)


def _why(options: argparse.Namespace) -> int:
    """Show who could have forced a win after each move of a match of a file."""
    use_own_environments(options)
    replay = read_replay(Path(options.what), options.match or 1)
    spec, record = replay.spec, replay.record
    if not isinstance(record, MatchRecord) or not spec.solver:
        raise BadArgument(f"--why needs a solver, and {spec.name} has none.")
    first, second = replay.facts.names
    found = story(spec, record, solve_match(spec, record), (first, second))
    lines = plain_text("\n".join([found.verdict, *(f"- {remark.sentence}" for remark in found.turning_points)]))
    show(options, {"why": lines.splitlines()}, lines.rstrip())
    return DONE
