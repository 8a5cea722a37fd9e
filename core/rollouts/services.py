"""Rollouts as workers finish them, and every verdict about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from arena_kit.environment.records import Fault
from arena_kit.rollout.agents.meter import Usage
from arena_kit.rollout.attempt import Work
from arena_kit.rollout.judge import TaskVerdict
from arena_kit.rollout.values.paths import NOTHING
from core.jobs.lifecycle import job_fail, job_succeed
from core.jobs.written import written_once
from core.models import BatchPurpose, JobFault, Rollout, RolloutVerdict, Task, User, VerdictReason
from core.rollouts.acceptance import acceptance_decide
from core.rollouts.storable import storable, storable_text

MOST_SENTENCE = 4_000


@dataclass(frozen=True, slots=True)
class JudgedRollout:
    """A rollout that was carried out and judged. usage: of models."""

    verdict: TaskVerdict
    work: Work
    usage: Usage
    steps: int
    seconds: float
    agent_seconds: float
    provision_seconds: float | None
    record_sha256: str
    player_digest: str = ""


@written_once
def rollout_finish(*, rollout: Rollout, result: JudgedRollout, artifacts: Mapping[str, str], log: str) -> None:
    """Store a judged rollout with its first verdict, in one transaction. Raises StaleJob when the claim was lost.

    An agent's fault is a failure of the job; every other verdict is a success of it, solved or not.
    """
    verdict = result.verdict
    fields = {**_fields(result), **artifacts}
    with transaction.atomic():
        if verdict.fault is Fault.PLAYER:
            said = storable_text(verdict.sentence)
            job_fail(
                job=rollout,
                fault=JobFault.PLAYER,
                code=verdict.code,
                error=said,
                public_error=said,
                log=log,
                **fields,
            )
        else:
            job_succeed(job=rollout, log=log, **fields)
        verdict_add(rollout=rollout, task=rollout.task, verdict=verdict, reason=VerdictReason.FIRST)
        if rollout.batch.purpose == BatchPurpose.ACCEPTANCE:
            acceptance_decide(rollout=rollout)


def verdict_add(
    *, rollout: Rollout, task: Task, verdict: TaskVerdict, reason: VerdictReason, made_by: User | None = None
) -> RolloutVerdict:
    """Add a verdict to the history of a rollout, from which nothing is ever taken."""
    found = storable(verdict.as_json())
    return RolloutVerdict.objects.create(
        rollout=rollout,
        task=task,
        reason=reason,
        judge_version=verdict.judge_version,
        outcome=verdict.outcome.value,
        fault=verdict.fault.value,
        score=verdict.score,
        code=verdict.code[:50],
        sentence=storable_text(verdict.sentence)[:MOST_SENTENCE],
        checks=found["checks"],
        guards=found["guards"],
        made_by=made_by,
    )


def verdict_adopt(*, verdict: RolloutVerdict) -> bool:
    """Let a later verdict count for its rollout; return whether that changes anything.

    The state of the job stays: only a rollout that was judged is judged again.
    """
    rows = Rollout.objects.filter(pk=verdict.rollout_id).exclude(outcome="")
    if verdict.fault != Fault.NONE.value:
        rows = rows.none()
    changed = rows.exclude(outcome=verdict.outcome, score=verdict.score, judge_version=verdict.judge_version)
    return bool(
        changed.filter(state="SUCCEEDED").update(
            outcome=verdict.outcome,
            score=verdict.score,
            verdict_code=verdict.code,
            verdict_sentence=verdict.sentence,
            judge_version=verdict.judge_version,
        )
    )


def _fields(result: JudgedRollout) -> dict[str, Any]:
    verdict, work, usage = result.verdict, result.work, result.usage
    has_answer = work.answer is not NOTHING
    return {
        "phase": "",
        "live": {},
        "ended_by": work.ended_by.value,
        "outcome": verdict.outcome.value,
        "score": verdict.score,
        "verdict_code": verdict.code[:50],
        "verdict_sentence": storable_text(verdict.sentence)[:MOST_SENTENCE],
        "judge_version": verdict.judge_version,
        "answer": storable(work.answer) if has_answer else None,
        "has_answer": has_answer,
        "answer_status": storable_text(work.status)[:30],
        "step_count": result.steps,
        "seconds": result.seconds,
        "agent_seconds": result.agent_seconds,
        "provision_seconds": result.provision_seconds,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "tokens_cached": usage.tokens_cached,
        "cost_micros": usage.cost_micros,
        "record_sha256": result.record_sha256,
        "player_digest": result.player_digest,
    }
