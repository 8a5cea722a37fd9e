"""Rows as messages of both services."""

from __future__ import annotations

from datetime import timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from arena_kit.upload.findings import Finding, Findings
from core.duels.run_selectors import RunResult, RunState, run_environment, run_job, run_result, run_rows, run_state
from core.links import absolute, page
from core.models import Duel, Environment, JobState, Run, User
from executor.generated.arena.executor.v1 import executor_pb2 as v1
from executor.generated.executor import executor_pb2 as old
from executor.statuses import CallEnded, Code

PHASES = {
    JobState.QUEUED: v1.PHASE_WAITING,
    JobState.RUNNING: v1.PHASE_PLAYING,
    JobState.SUCCEEDED: v1.PHASE_SUCCEEDED,
    JobState.FAILED: v1.PHASE_FAILED,
    JobState.CANCELLED: v1.PHASE_CANCELLED,
}
STATUSES = {
    JobState.SUCCEEDED: old.STATUS_SUCCESS,
    JobState.FAILED: old.STATUS_ERROR,
    JobState.CANCELLED: old.STATUS_CANCELLED,
}


def run_find(caller: User, *, run_id: str = "", key: str = "") -> Run:
    """Return a caller's run by its id or key. Raises Ended; the runs of others are not there."""
    rows = run_rows(caller)
    if key:
        found = rows.filter(key=key).first()
    else:
        is_number = run_id.isascii() and run_id.isdigit() and len(run_id) < 19
        found = rows.filter(pk=int(run_id)).first() if is_number else None
    if found is None:
        raise CallEnded(Code.NOT_FOUND, "You have no such run.")
    return found


def match_message(caller: User, run_id: int, *, with_replay: bool) -> old.MatchResponse:
    """Return the answer to RunMatch of a run that is over."""
    run = run_find(caller, run_id=str(run_id))
    job = run_job(run)
    state, result = run_state(job), run_result(run)
    message = old.MatchResponse(
        match_id=run.key,
        status=old.STATUS_TIMEOUT if state.is_timed_out else STATUSES.get(state.state, old.STATUS_UNKNOWN),
        error_message=state.error,
    )
    if result is None:
        return message
    message.winner_agent_id, message.total_steps = result.winner, result.moves
    message.execution_time_sec = result.seconds
    for side in result.sides:
        message.agent_results.add(agent_id=side.name, score=side.score, errors=side.errors, error_message=side.error)
    if with_replay and isinstance(job, Duel):
        message.replay_url, message.replay_html_url = (
            absolute(page("match_replay", job.pk, 1, form)) for form in ("json", "html")
        )
    return message


def run_message(run: Run) -> v1.Run:
    """Return a run as the newer service shows it."""
    job = run_job(run)
    state = run_state(job)
    created, expires = Timestamp(), Timestamp()
    created.FromDatetime(run.created_at)
    expires.FromDatetime(run.expires_at)
    result = run_result(run)
    return v1.Run(
        id=str(run.pk),
        key=run.key,
        environment=run_environment(run).slug,
        phase=_phase(state),
        match_count=state.match_count,
        matches_done=state.matches_done,
        error=state.error,
        create_time=created,
        expire_time=expires,
        result=None if result is None else _result(result),
        sequence=state.sequence,
        duel=str(job.pk) if isinstance(job, Duel) else "",
    )


def findings_message(found: Findings, *, matches: int = 0) -> v1.ValidateAgentResponse:
    """Return a verdict as the newer service shows it."""
    return v1.ValidateAgentResponse(
        valid=not found.errors,
        errors=map(_finding, found.errors),
        warnings=map(_finding, found.warnings),
        matches_played=matches,
    )


def findings_texts(found: Findings) -> old.ValidationResponse:
    """Return a verdict as the older service shows it."""
    return old.ValidationResponse(
        valid=not found.errors, errors=map(_sentence, found.errors), warnings=map(_sentence, found.warnings)
    )


def environments_message() -> v1.DescribeEnvironmentsResponse:
    """Return all environments of the arena."""
    return v1.DescribeEnvironmentsResponse(environments=map(_environment, Environment.objects.order_by("slug")))


def _environment(row: Environment) -> v1.Environment:
    tasks = "It is an application: its tasks are asked for as rollouts." if row.is_app else ""
    return v1.Environment(
        slug=row.slug,
        id=row.env_id,
        name=row.name,
        version=row.version,
        seats=row.seats,
        closed_because=tasks or row.closed_because,
    )


def _phase(state: RunState) -> v1.Phase.ValueType:
    return v1.PHASE_TIMED_OUT if state.is_timed_out else PHASES[state.state]


def _result(result: RunResult) -> v1.Result:
    span = Duration()
    span.FromTimedelta(timedelta(seconds=result.seconds))
    sides = (
        v1.Side(name=side.name, score=side.score, wins=side.wins, forfeits=side.errors, error=side.error)
        for side in result.sides
    )
    return v1.Result(winner=result.winner, sides=sides, draws=result.draws, moves=result.moves, play_time=span)


def _finding(one: Finding) -> v1.Finding:
    return v1.Finding(code=one.code, message=one.message, file=one.file, line=one.line or 0)


def _sentence(one: Finding) -> str:
    where = f"{one.file}:{one.line}: " if one.file and one.line else f"{one.file}: " if one.file else ""
    return where + one.message
