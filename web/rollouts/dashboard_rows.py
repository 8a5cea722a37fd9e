"""Tasks, batches and rollouts as the older dashboard shows them."""

from __future__ import annotations

import json
from typing import Any

from core.models import Batch, JobFault, Rollout, RolloutOutcome, Task
from core.rollouts.permissions import answers_visible, expected_visible, work_visible
from core.rollouts.statuses import status_of


def task_shown(row: Task, viewer: Any) -> dict[str, Any]:
    """Return a task. Its counts are those of the selector that the API calls."""
    counts: Any = row
    return {
        "id": row.name,
        "task": row.instruction,
        "answer": _text(row.definition.get("answer")) if answers_visible(row, viewer) else None,
        "created_at": row.created_at,
        "environment": row.environment.slug,
        "revision": row.revision,
        "job_count": counts.batch_count,
        "rollout_count": counts.rollout_count,
        "completed_count": counts.over_count,
        "success_count": counts.solved_count,
    }


def job_shown(batch: Batch, task: Task | None) -> dict[str, Any]:
    """Return a batch, or its part at one task, as a job."""
    counts: Any = batch
    return {
        "id": str(batch.public_id),
        "task_id": task.name if task is not None else None,
        "model": batch.agent_name,
        "attempts": batch.attempts,
        "created_at": batch.created_at,
        "rollout_count": counts.rollout_count,
        "completed_count": counts.over_count,
        "success_count": counts.solved_count,
        "running_count": counts.running_count,
    }


def rollout_shown(row: Rollout, viewer: Any) -> dict[str, Any]:
    """Return a rollout, with what this viewer may see of it."""
    is_seen = work_visible(row, viewer)
    base = f"/api/v1/rollouts/{row.public_id}"
    return {
        "id": str(row.public_id),
        "task_id": row.task.name,
        "job_id": str(row.batch.public_id),
        "model": row.batch.agent_name,
        "status": status_of(row),
        "result": _text(row.answer) if is_seen and row.has_answer else None,
        # As text, which clients parse; an answer that is no JSON was not parsed.
        "parsed_json": _text(row.answer) if is_seen and row.has_answer and not isinstance(row.answer, str) else None,
        "success": row.is_solved if row.outcome and row.outcome != RolloutOutcome.UNJUDGED else None,
        "error": _error(row, viewer),
        "log_path": f"{base}/export/?form=dashboard" if is_seen and row.steps else None,
        "video_path": f"{base}/files/video/" if is_seen and row.video else None,
        "metabase_port": None,
        "created_at": row.created_at,
        "completed_at": row.ended_at,
    }


def _error(row: Rollout, viewer: Any) -> str | None:
    """Return why a rollout was not solved. The sentence of a verdict says what was expected, so it is not for all."""
    is_verdict = row.fault == JobFault.NONE and expected_visible(row, viewer)
    return (row.verdict_sentence if is_verdict else row.public_error) or None


def _text(value: Any) -> str | None:
    """Return an answer as the dashboard has it: a text as it is, everything else as JSON, and None for null."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
