"""What is kept of matches and duels: seats, seeds, actions and results; everything else is derived from these.

`replay.py` derives frames from a record; `record_archive.py` stores a duel's records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Outcome(StrEnum):
    """Who won."""

    NONE = ""
    PLAYER_1 = "PLAYER_1"
    PLAYER_2 = "PLAYER_2"
    DRAW = "DRAW"


class Fault(StrEnum):
    """Who is to blame when something went wrong."""

    NONE = "NONE"
    PLAYER = "PLAYER"
    PLATFORM = "PLATFORM"


@dataclass(frozen=True, slots=True)
class MatchRecord:
    """One match, complete: together with the environment's version it can be replayed.

    Tuples "by player" hold the figure of player_1, then of player_2. Times are the only values that
    two runs with the same seed and deterministic players do not share.
    """

    number: int
    """1-based within the duel."""
    seed: int
    seats: tuple[int, ...]
    """seats[seat] = index (0 or 1) of the player that sits there."""
    actions: tuple[int, ...]
    """In the order played; within a simultaneous step in the order of `to_move`."""
    outcome: Outcome
    scores: tuple[float, ...]
    """By player."""
    fault: Fault = Fault.NONE
    faulty_player: int | None = None
    """Index of the player at fault when `fault` is PLAYER."""
    error_code: str = ""
    error: str = ""
    """A sentence for a person, then the player's traceback when there is one (at most 2,000 characters)."""
    move_counts: tuple[int, ...] = (0, 0)
    """By player."""
    thinking_seconds: tuple[float, ...] = (0.0, 0.0)
    """By player: wall time of all its moves as the referee measured it, without what its rival took of their core."""
    slowest_move_seconds: tuple[float, ...] = (0.0, 0.0)
    """By player."""
    cpu_seconds: tuple[float, ...] = (0.0, 0.0)
    """By player: processor time of its container, over all its moves and what it did meanwhile; 0 where not known."""


@dataclass(frozen=True, slots=True)
class DuelSummary:
    """Counts over the matches of a duel; tuples are by player."""

    outcome: Outcome
    match_count: int
    wins: tuple[int, int]
    """Matches won by play; the opponent's forfeits are not among them."""
    errors: tuple[int, int]
    """Matches forfeited by a fault of this player."""
    draws: int
    scores: tuple[float, float]

    @property
    def points(self) -> tuple[int, int]:
        """2 for a match won or forfeited by the opponent, 1 for a draw."""
        return (
            2 * (self.wins[0] + self.errors[1]) + self.draws,
            2 * (self.wins[1] + self.errors[0]) + self.draws,
        )


@dataclass(frozen=True, slots=True)
class DuelRecord:
    """All matches between two players."""

    environment: str
    """Id of the spec, e.g. `connect-four-v1`."""
    seed: int
    players: tuple[str, str]
    """Names of player_1 and player_2."""
    matches: tuple[MatchRecord, ...]

    @property
    def summary(self) -> DuelSummary:
        """The counts of this duel."""
        return summarise(self.matches)


def summarise(matches: Iterable[MatchRecord]) -> DuelSummary:
    """Count matches; a duel goes to the player with more points, then with more score, else it is a draw."""
    wins, errors, scores = [0, 0], [0, 0], [0.0, 0.0]
    draws = match_count = 0
    for match in matches:
        match_count += 1
        for player in (0, 1):
            scores[player] += match.scores[player]
        if match.fault is Fault.PLAYER and match.faulty_player is not None:
            errors[match.faulty_player] += 1
        elif match.outcome is Outcome.PLAYER_1:
            wins[0] += 1
        elif match.outcome is Outcome.PLAYER_2:
            wins[1] += 1
        elif match.outcome is Outcome.DRAW:
            draws += 1
    standing = [(2 * (wins[p] + errors[1 - p]) + draws, scores[p]) for p in (0, 1)]
    outcome = (
        Outcome.PLAYER_1
        if standing[0] > standing[1]
        else Outcome.PLAYER_2
        if standing[1] > standing[0]
        else Outcome.DRAW
    )
    return DuelSummary(outcome, match_count, (wins[0], wins[1]), (errors[0], errors[1]), draws, (scores[0], scores[1]))


class Ended(Protocol):
    """A match as far as its outcome is concerned."""

    @property
    def outcome(self) -> Outcome: ...


def half_points(matches: Iterable[Ended]) -> list[int]:
    """What player_1 got of each pair of matches, 0 to 4: 2 for a win, 1 for a draw. Half a pair at the end is left out.

    matches: from the first on, in the order of the schedule.
    """
    points = [_HALF_POINTS[match.outcome] for match in matches]
    return [first + second for first, second in zip(points[::2], points[1::2], strict=False)]


# No result at all is only found in damaged records, which are checked as far as they go.
_HALF_POINTS = {Outcome.PLAYER_1: 2, Outcome.DRAW: 1, Outcome.NONE: 1, Outcome.PLAYER_2: 0}


def canonical_lines(record: DuelRecord) -> Iterator[str]:
    """What a record says of a duel, in one form that is the same on every machine: ASCII lines of JSON, no spaces.

    First `["arena-duel",1,environment,seed,number of matches]`, then per match `[number,seed,seats,actions,outcome,
    scores,fault,faulty_player,error_code,move_counts]`. Scores are the shortest decimals that give the same double,
    always with a point or exponent, and zero has no sign. Left out is what may differ without the play being another:
    times, the players' names, and the text of an error (a download may lack its trace).
    """
    yield _line("arena-duel", 1, record.environment, record.seed, len(record.matches))
    for match in record.matches:
        # Adding 0.0 turns the zero with a sign into the one without.
        scores = [float(score) + 0.0 for score in match.scores]
        yield _line(
            match.number, match.seed, match.seats, match.actions, match.outcome.value, scores, match.fault.value,
            match.faulty_player, match.error_code, match.move_counts,
        )  # fmt: skip


def record_sha256(record: DuelRecord) -> str:
    """SHA-256 in hex over the canonical lines, each ended by a line feed: equal play, equal hash."""
    sha256 = hashlib.sha256()
    for line in canonical_lines(record):
        sha256.update(line.encode("ascii") + b"\n")
    return sha256.hexdigest()


# One encoder for all: `json.dumps` would make one for every line.
_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def _line(*values: object) -> str:
    return _to_json(values)
