"""States of rollouts in the words of the older dashboard, for its clients, which wait for success, failed or error."""

from __future__ import annotations

from django.db.models import Q

from core.jobs.states import OPEN
from core.models import JobState, Rollout, RolloutOutcome, RolloutPhase

PENDING, PROVISIONING, RUNNING = "pending", "provisioning", "running"
SUCCESS, FAILED, ERROR = "success", "failed", "error"
COMPLETED, CANCELLED = "completed", "cancelled"
"""Filters only: everything that is over, as the README of the dashboard calls it, and what was cancelled."""
_BEGINNING = Q(phase__in=[RolloutPhase.WAITING, RolloutPhase.PROVISIONING])
_OVER = ~Q(state__in=OPEN)
_FILTERS = {
    PENDING: Q(state=JobState.QUEUED),
    PROVISIONING: Q(state=JobState.RUNNING) & _BEGINNING,
    RUNNING: Q(state=JobState.RUNNING) & ~_BEGINNING,
    SUCCESS: Q(outcome=RolloutOutcome.SOLVED),
    FAILED: ~Q(outcome__in=[RolloutOutcome.NONE, RolloutOutcome.SOLVED]),
    ERROR: _OVER & Q(outcome=RolloutOutcome.NONE),
    COMPLETED: _OVER,
    CANCELLED: Q(state=JobState.CANCELLED),
}
STATUSES = tuple(_FILTERS)
"""The filters of a list."""


def status_filter(status: str) -> Q:
    """Return the condition of a status. Raises KeyError for one that is not in STATUSES."""
    return _FILTERS[status]


def status_of(rollout: Rollout) -> str:
    """Return the dashboard's word for where a rollout is; without a verdict, e.g. when cancelled, it ends in error."""
    match rollout.state:
        case JobState.QUEUED:
            return PENDING
        case JobState.RUNNING:
            is_beginning = rollout.phase in (RolloutPhase.WAITING, RolloutPhase.PROVISIONING)
            return PROVISIONING if is_beginning else RUNNING
    if rollout.outcome == RolloutOutcome.SOLVED:
        return SUCCESS
    return FAILED if rollout.outcome else ERROR
