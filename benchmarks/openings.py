"""What openings change: how many matches of a duel are distinct, who gains by the first seat, how sure a rating is.

Two agents without randomness, `minimax` (with a fixed seed) and `deep_search`, play a duel in every game, before
openings (version 1 of its rules) and after (the newest version). All keys have a value before and one after:

distinct_share: distinct matches among all. Tic-tac-toe has 538 undecided positions at three to five plies, which are
not equally likely, so some are drawn twice; at one, two or three plies there are only 9, 24 or 138.
first_seat_edge: points of the first seat in a match, less those of the second; 0 is even, 1 if the first always wins.
rating_interval: width of the 95% interval of the rating difference, in points, from the distinct matches alone, as log
odds with half a point added on both sides (Haldane 1956, Anscombe 1956). A repeated match tells nothing new.
interval_ratio: the width before over the width after, at equally many games.
claimed_interval: the width if repeated matches counted as new, which is too narrow before.

As the players have no randomness, each start is played once for each seat and its result is counted wherever it comes
again; `is_repeatable` says whether the first starts, played once more, went the same.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

from arena_kit.content import content_folder
from arena_kit.environment.distinct import first_alike
from arena_kit.environment.loading import load
from arena_kit.environment.openings import opening_of
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.registry import all_specs, get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.ranking.rating import POINTS
from arena_kit.referee.run import Player, pair_seed, run_match
from benchmarks.common import circumstances, say, text_table, write_json

WAYS = ("before", "after")
REPEATED_STARTS = 2
Start = tuple[tuple[int, ...], tuple[int, ...]]
"""The opening and the seats: all that a match between players without randomness depends on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and, if asked, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openings", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="end within 60 s, with rougher figures: 60 matches")
    parser.add_argument("--matches", type=int, default=500, help="of a duel (default 500)")
    parser.add_argument("--games", nargs="+", default=games(), metavar="GAME", help="default: all that have openings")
    parser.add_argument("--seed", type=int, default=1, help="of the duel (default 1)")
    options = parser.parse_args(arguments)
    if options.quick:
        options.matches = min(options.matches, 60)
    makers = (lambda: _player("minimax", seed=0), lambda: _player("deep_search"))
    found = {game: measure(game, makers, options.matches, options.seed) for game in options.games}
    report = {**circumstances(options), "games": found}
    print(table(found))
    write_json(options.json, report)
    return 0


def games() -> list[str]:
    """Return the slugs of all environments with openings."""
    return [spec.slug for spec in all_specs() if spec.openings is not None]


def _player(name: str, **options: Any) -> Player:
    player: Player = load("player:Player", content_folder("example_players") / name)(**options)
    return player


def measure(game: str, makers: Sequence[Callable[[], Player]], matches: int, seed: int) -> dict[str, Any]:
    """Return the figures of a game before and after openings. makers: make each player anew for a match."""
    found: dict[str, Any] = {}
    for way, spec in zip(WAYS, (get_spec(f"{game}-v1"), get_spec(game)), strict=True):
        records, is_repeatable = play(spec, makers, matches, seed)
        distinct = len(set(first_alike(spec, records)))
        points = sum(_points(match.outcome) for match in records)
        found[way] = {
            "distinct_share": round(distinct / matches, 4),
            "first_seat_edge": round(sum(_edge(match) for match in records) / matches, 4),
            "rating_interval": round(interval_width(points / matches, distinct), 1),
            "claimed_interval": round(interval_width(points / matches, matches), 1),
            "share_of_points": round(points / matches, 4),
            "is_repeatable": is_repeatable,
        }
    ratio = found["before"]["rating_interval"] / found["after"]["rating_interval"]
    return {**found, "interval_ratio": round(ratio, 2)}


def play(
    spec: EnvironmentSpec, makers: Sequence[Callable[[], Player]], matches: int, seed: int
) -> tuple[list[MatchRecord], bool]:
    """Return the records of a duel with seat-swapped pairs, and whether its first starts go the same again."""
    known: dict[Start, MatchRecord] = {}

    def one(number: int) -> MatchRecord:
        pair, swapped = divmod(number - 1, 2)
        seats = (1, 0) if swapped else (0, 1)
        played = run_match(spec, [makers[player]() for player in seats], pair_seed(seed, pair), number=number)
        # `run_match` names players by their seats.
        outcomes = {Outcome.PLAYER_1: Outcome.PLAYER_2, Outcome.PLAYER_2: Outcome.PLAYER_1}
        outcome = outcomes.get(played.outcome, played.outcome) if swapped else played.outcome
        return replace(played, seats=seats, outcome=outcome)

    records = []
    for number in range(1, matches + 1):
        match_seed = pair_seed(seed, (number - 1) // 2)
        start = (opening_of(spec, match_seed), (1, 0) if number % 2 == 0 else (0, 1))
        if start not in known:
            say(f"{spec.id}: match {number} of {matches}")
            known[start] = one(number)
        records.append(replace(known[start], number=number, seed=match_seed))
    say("")
    again = [one(number) for number in range(1, 1 + min(REPEATED_STARTS, matches))]
    return records, all(match.actions == records[match.number - 1].actions for match in again)


def interval_width(share: float, matches: int) -> float:
    """Return the width of the 95% interval of a rating difference, in points. share: of the points, 0 to 1."""
    won = share * matches
    error = math.sqrt(1 / (won + 0.5) + 1 / (matches - won + 0.5))
    return 2 * NormalDist().inv_cdf(0.975) * POINTS * error


def _points(outcome: Outcome) -> float:
    return {Outcome.PLAYER_1: 1.0, Outcome.DRAW: 0.5}.get(outcome, 0.0)


def _edge(match: MatchRecord) -> int:
    """Return 1 if the first seat won, -1 if it lost, 0 for a draw."""
    assert match.fault is Fault.NONE
    if match.outcome is Outcome.DRAW:
        return 0
    return 1 if (match.outcome is Outcome.PLAYER_1) == (match.seats[0] == 0) else -1


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a table."""
    header = ["game", "openings", "distinct", "first seat", "share", "interval", "claimed", "ratio"]
    rows = [
        [
            game,
            way,
            f"{figures[way]['distinct_share']:.1%}",
            f"{figures[way]['first_seat_edge']:+.3f}",
            f"{figures[way]['share_of_points']:.1%}",
            f"{figures[way]['rating_interval']:.0f}",
            f"{figures[way]['claimed_interval']:.0f}",
            f"{figures['interval_ratio']:.2f}" if way == "after" else "",
        ]
        for game, figures in found.items()
        for way in WAYS
    ]
    return text_table(header, rows)


if __name__ == "__main__":
    raise SystemExit(main())
