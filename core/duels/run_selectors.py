"""Runs of programs: their states and results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from django.db.models import QuerySet

from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.records import Fault
from arena_kit.environment.replay import step_counts
from core.duels.selectors import NotStored, records_open, spec_get
from core.jobs.states import OPEN
from core.models import CancelCode, Duel, DuelOutcome, Environment, Evaluation, JobFault, JobState, Run, User


@dataclass(frozen=True, slots=True)
class RunState:
    """Where a run is.

    cancel_code: why it was cancelled. error: for a person, of one that failed or was cancelled.
    """

    run_id: int
    state: JobState
    cancel_code: str
    error: str
    match_count: int
    matches_done: int

    @property
    def is_over(self) -> bool:
        return self.state not in OPEN

    @property
    def is_timed_out(self) -> bool:
        return self.cancel_code == CancelCode.TIME_OVER


@dataclass(frozen=True, slots=True)
class RunSide:
    """The result of one player. errors: the matches that it forfeited. error: why it forfeited the first of them.

    label, metadata: the caller's own words.
    """

    name: str
    score: float
    wins: int
    errors: int
    error: str
    label: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run that was played. winner: the caller's id of the winner, empty for a draw.

    steps: of the environment in all matches, openings included; 0 where the records are gone.
    """

    winner: str
    sides: tuple[RunSide, ...]
    draws: int
    steps: int
    seconds: float


def run_rows(caller: User) -> QuerySet[Run]:
    """Return a caller's runs with their duels and evaluations, newest first."""
    with_jobs = Run.objects.select_related("duel__player_1__agent__environment", "evaluation__environment")
    return with_jobs.filter(caller=caller).order_by("-pk")


def run_job(run: Run) -> Duel | Evaluation:
    """Return what a run is: a duel, or an evaluation in an environment with one seat."""
    duel: Duel | None = getattr(run, "duel", None)
    return run.evaluation if duel is None else duel


def run_environment(run: Run) -> Environment:
    """Return where a run is played."""
    job = run_job(run)
    return job.environment if isinstance(job, Evaluation) else job.player_1.agent.environment


def run_states(ids: Collection[int]) -> dict[int, RunState]:
    """Return the states of runs by id; a run that is gone is left out."""
    fields = ("run_id", "state", "cancel_code", "public_error")
    duels = Duel.objects.filter(run__in=ids).order_by().only(*fields, "match_count", "matches_done")
    evaluations = Evaluation.every.filter(run__in=ids).order_by()
    evaluations = evaluations.only(*fields, "fault", "episode_count", "episodes_done")
    states = [*map(run_state, duels), *map(run_state, evaluations)]
    return {state.run_id: state for state in states}


def run_state(job: Duel | Evaluation) -> RunState:
    """Return the state of a run by its duel or evaluation. What the player is to blame for was played, and is lost."""
    assert job.run_id is not None
    state = JobState(job.state)
    if isinstance(job, Duel):
        count, done = job.match_count, job.matches_done
    else:
        count, done = job.episode_count, job.episodes_done
        if state is JobState.FAILED and job.fault == JobFault.PLAYER:
            state = JobState.SUCCEEDED
    # An earlier attempt's fault is not news of a run that waits for the next one.
    error = job.public_error if state in (JobState.FAILED, JobState.CANCELLED) else ""
    return RunState(job.run_id, state, job.cancel_code, error, count, done)


def run_result(run: Run) -> RunResult | None:
    """Return the result of a run; None when it was not played to its end."""
    duel = run_job(run)
    if isinstance(duel, Evaluation):
        return _evaluated(run, duel)
    if duel.state != JobState.SUCCEEDED:
        return None
    errors, steps = ["", ""], 0
    # Without its records, which an operator may keep for some time only, the result stays.
    with suppress(NotStored, ArenaEnvironmentError), records_open(duel) as archive:
        for player in (0, 1):
            forfeits = (one for one in archive.index if one.fault is Fault.PLAYER and one.faulty_player == player)
            if (first := next(forfeits, None)) is not None:
                # Further lines are a trace, which quotes source code.
                errors[player] = archive.match(first.number).error.partition("\n")[0]
        steps = sum(step_counts(spec_get(duel), duel.seed, (match.moves for match in archive.index)))
    winner = {DuelOutcome.PLAYER_1: run.player_1_name, DuelOutcome.PLAYER_2: run.player_2_name}
    return RunResult(
        winner=winner.get(DuelOutcome(duel.outcome), ""),
        sides=(
            _side(run, 0, duel.player_1_score, duel.player_1_wins, duel.player_1_errors, errors[0]),
            _side(run, 1, duel.player_2_score, duel.player_2_wins, duel.player_2_errors, errors[1]),
        ),
        draws=duel.draws,
        steps=steps,
        seconds=_seconds(duel),
    )


def _evaluated(run: Run, evaluation: Evaluation) -> RunResult | None:
    """Return the result of one player alone: its mean score, or why it failed; there is no winner."""
    if run_state(evaluation).state is not JobState.SUCCEEDED:
        return None
    has_failed = evaluation.state == JobState.FAILED
    error = evaluation.public_error if has_failed else ""
    side = _side(run, 0, evaluation.score or 0.0, 0, int(has_failed), error)
    steps = sum(int(episode[2]) for episode in evaluation.episodes)
    return RunResult(winner="", sides=(side,), draws=0, steps=steps, seconds=_seconds(evaluation))


def _side(run: Run, player: int, score: float, wins: int, errors: int, error: str) -> RunSide:
    words = run.player_words[player] if player < len(run.player_words) else {}
    label, metadata = words.get("version", ""), words.get("metadata", {})
    return RunSide(run.names[player], score, wins, errors, error, label, metadata)


def _seconds(job: Duel | Evaluation) -> float:
    return (job.ended_at - job.started_at).total_seconds() if job.started_at and job.ended_at else 0.0
