"""Reads answers whose records have another shape than their JSON: boards and matches. Raises SiteError."""

# Without postponed annotations: msgspec reads the types of the fields.

from dataclasses import dataclass
from typing import Any

from arena_kit.client.answers import Board, RankedRow, VersionName
from arena_kit.client.decoding import Line, Number, Text, Whole, decode
from arena_kit.environment.records import Fault, MatchRecord, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rated:
    """A row of a leaderboard by ratings."""

    rank: Whole | None = None
    submission: VersionName
    value: Number
    low: Number | None = None
    high: Number | None = None


@dataclass(frozen=True, slots=True)
class _Leaderboard:
    count: Whole
    results: tuple[_Rated, ...]


def leaderboard_of(data: Any, environment: str) -> Board:
    """Read a leaderboard by ratings."""
    found = decode(_Leaderboard, data, "the leaderboard")
    places = tuple(
        RankedRow(row.rank, version.agent.name, version.number, version.agent.owner, row.value, row.low, row.high)
        for row in found.results
        for version in (row.submission,)
    )
    return Board(environment, False, found.count, places, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """A row of a board by scores. user_label: the name that a participant gave instead of the owner's."""

    rank: Whole | None = None
    agent: Line
    number: Whole
    user_label: Line
    owner: Line
    is_verified: bool
    score: Number
    score_low: Number | None = None
    score_high: Number | None = None


@dataclass(frozen=True, slots=True)
class _Scoreboard:
    count: Whole
    results: tuple[_Scored, ...]


def scores_of(data: Any, environment: str) -> Board:
    """Read a board by scores."""
    found = decode(_Scoreboard, data, "the board")
    places = tuple(
        RankedRow(
            row.rank,
            row.agent,
            row.number,
            row.user_label or row.owner,
            row.score,
            row.score_low,
            row.score_high,
            note="" if row.is_verified else "self-reported",
        )
        for row in found.results
    )
    return Board(environment, True, found.count, places, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """A match. Its players are counted from 1, those of a record from 0."""

    number: Whole
    seed: Whole
    seats: tuple[int, ...]
    actions: tuple[int, ...]
    outcome: Line
    scores: tuple[Number, ...]
    fault: Line
    faulty_player: Whole | None = None
    error_code: Line
    error: Text
    # Sites from before there were openings do not send it.
    opening_count: Whole | None = None


def match_of(data: Any) -> MatchRecord:
    """Read the record of a match."""
    found = decode(_Match, data, "the match")
    try:
        outcome, fault = Outcome(found.outcome), Fault(found.fault)
    except ValueError:
        outcome, fault = Outcome.NONE, Fault.NONE
    return MatchRecord(
        number=found.number,
        seed=found.seed,
        seats=tuple(player - 1 for player in found.seats),
        actions=found.actions,
        outcome=outcome,
        scores=found.scores,
        fault=fault,
        faulty_player=None if found.faulty_player is None else found.faulty_player - 1,
        error_code=found.error_code,
        error=found.error,
        opening_count=found.opening_count or 0,
    )
