"""Rows as messages of the service."""

from __future__ import annotations

from arena_kit.upload.findings import Finding, Findings
from core.duels.run_selectors import run_job, run_result, run_rows, run_state
from core.links import absolute, page
from core.models import Duel, JobState, User
from executor.generated.executor import executor_pb2 as old

STATUSES = {
    JobState.SUCCEEDED: old.STATUS_SUCCESS,
    JobState.FAILED: old.STATUS_ERROR,
    JobState.CANCELLED: old.STATUS_CANCELLED,
}


def match_message(caller: User, run_id: int, *, with_replay: bool) -> old.MatchResponse:
    """Return the answer to RunMatch of a run that is over."""
    run = run_rows(caller).get(pk=run_id)
    job = run_job(run)
    state, result = run_state(job), run_result(run)
    message = old.MatchResponse(
        match_id=run.key,
        run_id=str(run.pk),
        status=old.STATUS_TIMEOUT if state.is_timed_out else STATUSES.get(state.state, old.STATUS_UNKNOWN),
        error_message=state.error,
    )
    if result is None:
        return message
    message.winner_agent_id, message.total_steps = result.winner, result.steps
    message.execution_time_sec, message.draws = result.seconds, result.draws
    for side in result.sides:
        message.agent_results.add(
            agent_id=side.name,
            score=side.score,
            errors=side.errors,
            error_message=side.error,
            wins=side.wins,
            version=side.label,
            metadata=side.metadata,
        )
    if with_replay and isinstance(job, Duel):
        message.replay_url, message.replay_html_url = (
            absolute(page("match_replay", job.pk, 1, form)) for form in ("json", "html")
        )
    return message


def findings_message(found: Findings, *, matches: int = 0) -> old.ValidationResponse:
    """Return a verdict. matches: those of self-play."""
    typed = [(one, True) for one in found.errors] + [(one, False) for one in found.warnings]
    return old.ValidationResponse(
        valid=not found.errors,
        errors=map(_sentence, found.errors),
        warnings=map(_sentence, found.warnings),
        findings=(
            old.Finding(code=one.code, message=one.message, file=one.file, line=one.line or 0, is_error=is_error)
            for one, is_error in typed
        ),
        matches_played=matches,
    )


def _sentence(one: Finding) -> str:
    where = f"{one.file}:{one.line}: " if one.file and one.line else f"{one.file}: " if one.file else ""
    return where + one.message
