"""States of rollouts in the words of the older dashboard, for its clients."""

from __future__ import annotations

from django.db.models import Q

from core.models import JobFault, JobState, Rollout, RolloutOutcome, RolloutPhase

PENDING, PROVISIONING, RUNNING, COMPLETED, FAILED = "pending", "provisioning", "running", "completed", "failed"
CANCELLED = "cancelled"
STATUSES = (PENDING, PROVISIONING, RUNNING, COMPLETED, FAILED, CANCELLED, "success", "error")
"""The filters of a list; `success` and `error` are the words of a later version of the dashboard."""
_BEGINNING = Q(phase__in=[RolloutPhase.WAITING, RolloutPhase.PROVISIONING])
_FILTERS = {
    PENDING: Q(state=JobState.QUEUED),
    PROVISIONING: Q(state=JobState.RUNNING) & _BEGINNING,
    RUNNING: Q(state=JobState.RUNNING) & ~_BEGINNING,
    COMPLETED: Q(state=JobState.SUCCEEDED),
    FAILED: Q(state=JobState.FAILED),
    CANCELLED: Q(state=JobState.CANCELLED),
    "success": Q(outcome=RolloutOutcome.SOLVED),
    "error": Q(state=JobState.FAILED, fault=JobFault.PLATFORM),
}


def status_filter(status: str) -> Q:
    """Return the condition of a status. Raises KeyError for one that is not in STATUSES."""
    return _FILTERS[status]


def status_of(rollout: Rollout) -> str:
    """Return the dashboard's word for where a rollout is."""
    match rollout.state:
        case JobState.QUEUED:
            return PENDING
        case JobState.RUNNING:
            is_beginning = rollout.phase in (RolloutPhase.WAITING, RolloutPhase.PROVISIONING)
            return PROVISIONING if is_beginning else RUNNING
        case JobState.SUCCEEDED:
            return COMPLETED
        case JobState.CANCELLED:
            return CANCELLED
    return FAILED


def outcome_of(rollout: Rollout) -> str | None:
    """Return success, failed or error, as the later version of the dashboard has it; None while it is not over."""
    if not rollout.is_over:
        return None
    if rollout.outcome == RolloutOutcome.SOLVED:
        return "success"
    return "failed" if rollout.outcome else "error"
