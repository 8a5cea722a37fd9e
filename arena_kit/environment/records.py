"""The records of matches and duels: seats, seeds, actions and results. Everything else is derived from these.

`replay.py` derives the frames of a match from its record; `record_archive.py` stores a duel's records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from arena_kit.older import StrEnum


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
    """One complete match; with the environment's version it can be replayed.

    Tuples "by player" hold the value of player_1, then that of player_2. With the same seed and deterministic players,
    two runs differ only in their times.
    """

    number: int
    """1-based within the duel."""
    seed: int
    seats: tuple[int, ...]
    """seats[seat] = index (0 or 1) of the player that sits there."""
    actions: tuple[int, ...]
    """In the order played; those of a simultaneous step in the order of `to_move`. The opening is part of them."""
    outcome: Outcome
    scores: tuple[float, ...]
    """By player."""
    fault: Fault = Fault.NONE
    faulty_player: int | None = None
    """Index of the player at fault when `fault` is PLAYER."""
    error_code: str = ""
    error: str = ""
    """A sentence for people, then the player's traceback, if any; at most 2,000 characters."""
    move_counts: tuple[int, ...] = (0, 0)
    """By player; without the opening."""
    thinking_seconds: tuple[float, ...] = (0.0, 0.0)
    """By player: wall time of all its moves, measured by the referee, less what its opponent used of their core."""
    slowest_move_seconds: tuple[float, ...] = (0.0, 0.0)
    """By player."""
    cpu_seconds: tuple[float, ...] = (0.0, 0.0)
    """By player: processor time of its container during the match, between its moves as well; 0 when unknown."""
    opening_count: int = 0
    """How many of the first actions are the opening, which the referee played; they are not moves of a player."""
    move_ms: tuple[tuple[int, ...], ...] | None = None
    """By player: the wall time of each of its moves in whole milliseconds, measured as `thinking_seconds` is. Empty for
    a player none of whose moves took half a millisecond; None for a record that does not know them."""


@dataclass(frozen=True, slots=True)
class DuelSummary:
    """Counts over the matches of a duel; tuples are by player."""

    outcome: Outcome
    match_count: int
    wins: tuple[int, int]
    """Matches won by play, not by the opponent's forfeit."""
    errors: tuple[int, int]
    """Matches that this player forfeited."""
    draws: int
    scores: tuple[float, float]

    @property
    def points(self) -> tuple[int, int]:
        """Points of both players: 2 for a match won or forfeited by the opponent, 1 for a draw."""
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
    alike: tuple[int, ...] | None = None
    """For each match the number of the first one that is the same, see `arena_kit.environment.distinct`; None where
    that was not found out."""
    opening: tuple[int, ...] | None = None
    """The actions that all matches begin with if they go on from a recorded match, whose seed they then have."""

    @property
    def distinct_matches(self) -> int | None:
        """How many of its matches are distinct; None where that was not found out."""
        return None if self.alike is None else len(set(self.alike))

    @property
    def summary(self) -> DuelSummary:
        return summarise(self.matches)


def summarise(matches: Iterable[MatchRecord]) -> DuelSummary:
    """Count the matches and decide the duel: more points win, then a higher total score; otherwise it is a draw."""
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


class HasOutcome(Protocol):
    """Anything with the outcome of a match."""

    @property
    def outcome(self) -> Outcome: ...


def half_points(matches: Iterable[HasOutcome]) -> list[int]:
    """Return the points of player_1 in each pair of matches, 0 to 4: 2 for a win, 1 for a draw.

    matches: from the first on, in the order of the schedule; half a pair at the end is left out.
    """
    points = [_HALF_POINTS[match.outcome] for match in matches]
    return [first + second for first, second in zip(points[::2], points[1::2], strict=False)]


# Only damaged records have the outcome NONE; they are still checked as far as possible.
_HALF_POINTS = {Outcome.PLAYER_1: 2, Outcome.DRAW: 1, Outcome.NONE: 1, Outcome.PLAYER_2: 0}


def canonical_lines(record: DuelRecord) -> Iterator[str]:
    """Yield a duel's record in a form that is the same on every machine: lines of JSON in ASCII, without spaces.

    The first line is `["arena-duel",1,environment,seed,number of matches]`. Each match follows as `[number,seed,seats,
    actions,outcome,scores,fault,faulty_player,error_code,move_counts]`; a match with an opening has its number of
    actions, `opening_count`, as one more value, so that records of rules without openings keep their lines. Scores are
    the shortest decimals that give the same double, always with a point or exponent, and zero has no sign. Times, the
    players' names and the texts of errors are left out, because they may differ between records of the same play.
    """
    yield _line("arena-duel", 1, record.environment, record.seed, len(record.matches))
    for match in record.matches:
        # Adding 0.0 turns -0.0 into 0.0.
        scores = [float(score) + 0.0 for score in match.scores]
        yield _line(
            match.number,
            match.seed,
            match.seats,
            match.actions,
            match.outcome.value,
            scores,
            match.fault.value,
            match.faulty_player,
            match.error_code,
            match.move_counts,
            *([match.opening_count] if match.opening_count else []),
        )


def record_sha256(record: DuelRecord) -> str:
    """Return the SHA-256, in hexadecimal, of the canonical lines, each followed by a line feed."""
    sha256 = hashlib.sha256()
    for line in canonical_lines(record):
        sha256.update(line.encode("ascii") + b"\n")
    return sha256.hexdigest()


# One shared encoder: `json.dumps` with these options makes a new one for every line.
_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def _line(*values: object) -> str:
    return _to_json(values)
