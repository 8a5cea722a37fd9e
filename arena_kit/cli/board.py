"""`arena board`: show the best of an environment."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from arena_kit.cli.common import DONE, positive, run_command, show
from arena_kit.cli.sites import add_site_option, client_of
from arena_kit.client.answers import Board, RankedRow

MOST = 100


def main(arguments: Sequence[str]) -> int:
    """Show a leaderboard. Returns 0."""
    parser = argparse.ArgumentParser(
        prog="arena board",
        description="Show the best of an environment, by rating or by score, with the 95% interval.",
        epilog="Exit code: 0 shown, 3 there is no such environment, 1 the network or the site failed, "
        "2 wrong arguments, 4 log in first.",
    )
    parser.add_argument("environment", help="its name in the address of its page, e.g. connect-four")
    parser.add_argument("--limit", type=positive, default=20, help=f"rows, at most {MOST} (default 20)")
    add_site_option(parser)
    return run_command(parser, arguments, lambda options, _: _board(options))


def _board(options: argparse.Namespace) -> int:
    board = client_of(options).board(options.environment, limit=min(MOST, options.limit))
    show(options, board.answer, board_text(board))
    return DONE


def board_text(board: Board) -> str:
    """Return a leaderboard as a table for a terminal."""
    if not board.places:
        return f"The leaderboard of {board.environment} is empty."
    names = [f"{place.agent} v{place.number}" for place in board.places]
    width = max(5, *map(len, names))
    owners = max(5, *(len(place.owner) for place in board.places))
    head = "score" if board.is_scored else "rating"
    lines = [f"{'rank':>5}  {'agent':{width}}  {'owner':{owners}}  {head:>9}  95% interval"]
    for name, place in zip(names, board.places, strict=True):
        rank = "-" if place.rank is None else str(place.rank)
        words = f"{rank:>5}  {name:{width}}  {place.owner:{owners}}  {place.value:>9.1f}  {_interval(place, board)}"
        lines.append(words.rstrip())
    lines.append(f"{len(board.places)} of {board.total}")
    return "\n".join(lines)


def _interval(place: RankedRow, board: Board) -> str:
    interval = "" if place.low is None or place.high is None else f"{place.low:.1f} to {place.high:.1f}"
    if interval and place.low == place.high and not board.is_scored:
        # The reference, on which the scale hangs.
        interval = "fixed"
    return f"{interval}  {place.note}".strip()
