"""Runs of programs: their states and results."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from django.db.models import QuerySet

from arena_kit.environment.records import Fault
from core.duels.selectors import NotStored, records_open
from core.jobs.lifecycle import HISTORY_LIMIT
from core.models import CancelCode, Duel, DuelOutcome, JobState, Run, User


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run is.

    cancel_code: why it was cancelled. error: for a person, of one that failed or was cancelled. sequence: grows with
    every change; two equal ones are the same state.
    """

    run_id: int
    state: JobState
    cancel_code: str
    error: str
    match_count: int
    matches_done: int
    sequence: int

    @property
    def is_over(self) -> bool:
        return self.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)

    @property
    def is_timed_out(self) -> bool:
        return self.cancel_code == CancelCode.TIME_OVER


@dataclass(frozen=True, slots=True)
class RunSide:
    """The result of one player. errors: the matches that it forfeited. error: why it forfeited the first of them."""

    name: str
    score: float
    wins: int
    errors: int
    error: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run that was played. winner: the caller's id of the winner, empty for a draw."""

    winner: str
    sides: tuple[RunSide, ...]
    draws: int
    moves: int
    seconds: float


def run_rows(caller: User) -> QuerySet[Run]:
    """Return a caller's runs with their duels, newest first."""
    return Run.objects.filter(caller=caller).select_related("duel__player_1__agent__environment").order_by("-pk")


def run_states(ids: Collection[int]) -> dict[int, RunState]:
    """Return the states of runs by id; a run that is gone is left out."""
    rows = Duel.objects.filter(run__in=ids).order_by()
    fields = ("run_id", "state", "cancel_code", "public_error", "match_count", "matches_done", "history")
    return {duel.run_id: run_state(duel) for duel in rows.only(*fields) if duel.run_id is not None}


def run_state(duel: Duel) -> RunState:
    """Return the state of a run by its duel."""
    assert duel.run_id is not None
    state = JobState(duel.state)
    steps = duel.match_count + 3
    if duel.is_over:
        sequence = (HISTORY_LIMIT + 1) * steps
    else:
        begun = 2 + duel.matches_done if state is JobState.RUNNING else 1
        sequence = len(duel.history) * steps + begun
    # An earlier attempt's fault is no news of a run that waits for the next one.
    error = duel.public_error if state in (JobState.FAILED, JobState.CANCELLED) else ""
    return RunState(duel.run_id, state, duel.cancel_code, error, duel.match_count, duel.matches_done, sequence)


def run_result(run: Run) -> RunResult | None:
    """Return the result of a run; None when it was not played to its end."""
    duel = run.duel
    if duel.state != JobState.SUCCEEDED:
        return None
    errors, moves = ["", ""], 0
    # Without its records, which an operator may keep for some time only, the result stays.
    with suppress(NotStored), records_open(duel) as archive:
        moves = sum(match.moves for match in archive.index)
        for player in (0, 1):
            forfeits = (one for one in archive.index if one.fault is Fault.PLAYER and one.faulty_player == player)
            if (first := next(forfeits, None)) is not None:
                # Further lines are a trace, which quotes source code.
                errors[player] = archive.match(first.number).error.partition("\n")[0]
    winner = {DuelOutcome.PLAYER_1: run.player_1_name, DuelOutcome.PLAYER_2: run.player_2_name}
    return RunResult(
        winner=winner.get(DuelOutcome(duel.outcome), ""),
        sides=(
            RunSide(run.player_1_name, duel.player_1_score, duel.player_1_wins, duel.player_1_errors, errors[0]),
            RunSide(run.player_2_name, duel.player_2_score, duel.player_2_wins, duel.player_2_errors, errors[1]),
        ),
        draws=duel.draws,
        moves=moves,
        seconds=(duel.ended_at - duel.started_at).total_seconds() if duel.started_at and duel.ended_at else 0.0,
    )
