"""The verdict about a rollout, from its task and what it has left. Pure: it can be repeated at any time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from arena_kit.environment.records import Fault
from arena_kit.rollout.checks.base import Check, Condition, Judged
from arena_kit.rollout.checks.evidence import Evidence, EvidenceMissing
from arena_kit.rollout.checks.values import FormatCheck
from arena_kit.rollout.exports.sql import QueryTooSlow
from arena_kit.rollout.tasks.task import Task

JUDGE_VERSION = 1
"""Raised with every change that can change a verdict; verdicts name the version that they were made by."""
ROUNDING = 1e-9


class TaskOutcome(StrEnum):
    """The outcome of the task. PARTIAL: some points, but not solved. UNJUDGED: nothing to judge by, or not possible."""

    SOLVED = "SOLVED"
    PARTIAL = "PARTIAL"
    NOT_SOLVED = "NOT_SOLVED"
    UNJUDGED = "UNJUDGED"


class EndedBy(StrEnum):
    """Why no further action was taken."""

    DONE = "done"
    GAVE_UP = "gave_up"
    STEP_LIMIT = "step_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105  # no secret
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    AGENT_FAULT = "agent_fault"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check or a guard, judged. weight: 0 for a guard. All texts but `say` may hold an agent's words."""

    kind: str
    passed: bool
    required: bool
    weight: float
    sentence: str = ""
    expected: str = ""
    actual: str = ""
    normalised: str = ""
    say: str = ""


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """Outcome, fault and score, which ranges from 0 to 1. code: why it is not solved, or what the fault is."""

    outcome: TaskOutcome
    fault: Fault = Fault.NONE
    score: float = 0.0
    code: str = ""
    sentence: str = ""
    checks: tuple[CheckResult, ...] = ()
    guards: tuple[CheckResult, ...] = ()
    judge_version: int = JUDGE_VERSION

    @property
    def is_solved(self) -> bool:
        """Return whether the rollout counts as a success."""
        return self.outcome is TaskOutcome.SOLVED

    @property
    def counts(self) -> bool:
        """Return whether the rollout is an attempt that rates count."""
        return self.fault is not Fault.PLATFORM and (self.outcome is not TaskOutcome.UNJUDGED)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as it is stored and hashed."""
        return asdict(self)


def rollout_verdict(task: Task, evidence: Evidence, ended_by: EndedBy, *, fault_code: str = "") -> TaskVerdict:
    """Return the verdict about a rollout that was carried out.

    fault_code: what the agent's fault was, if one ended the rollout; it is then not solved, and the score of its checks
    is kept for information. What is missing to judge by is the platform's fault.
    """
    if ended_by is EndedBy.CANCELLED:
        return TaskVerdict(TaskOutcome.UNJUDGED, code="cancelled", sentence="The rollout was cancelled.")
    try:
        checks = tuple(_result(each, evidence) for each in _all_checks(task))
        guards = tuple(_guarded(each.condition, each.say, evidence) for each in task.guards)
    except (EvidenceMissing, QueryTooSlow) as error:
        return platform_verdict("judge_failed", str(error))
    code, sentence = _reason(task, evidence, checks, guards, ended_by)
    if ended_by is EndedBy.AGENT_FAULT:
        code = fault_code or "agent_fault"
        score = _score(checks) if any(each.weight for each in checks) else 0.0
        return TaskVerdict(
            TaskOutcome.NOT_SOLVED, Fault.PLAYER, score, code, "The agent's fault ended the rollout.", checks, guards
        )
    if not task.is_judged:
        return TaskVerdict(
            TaskOutcome.UNJUDGED, code="no_checks", sentence="The task has neither an answer nor checks."
        )
    score = _score(checks) if any(each.weight for each in checks) else float(not code)
    outcome = TaskOutcome.SOLVED if not code else TaskOutcome.PARTIAL if score > 0 else TaskOutcome.NOT_SOLVED
    return TaskVerdict(outcome, Fault.NONE, score, code, sentence, checks, guards)


def platform_verdict(code: str, sentence: str) -> TaskVerdict:
    """Return the verdict about a rollout that the platform has spoilt; it counts for nothing and is tried again."""
    return TaskVerdict(TaskOutcome.UNJUDGED, Fault.PLATFORM, 0.0, code, sentence)


def _all_checks(task: Task) -> list[Check]:
    """Return the checks, the form of the answer first, which gives no points."""
    form = [] if task.format is None else [Check(task.format, weight=0.0)]
    return [*form, *task.checks]


def _result(check: Check, evidence: Evidence) -> CheckResult:
    judged = check.condition.judge(evidence)
    return _of(check.condition, judged, required=check.required, weight=check.weight, say=check.say)


def _guarded(guard: Condition, say: str, evidence: Evidence) -> CheckResult:
    return _of(guard, guard.judge(evidence), required=True, weight=0.0, say=say)


def _of(condition: Condition, judged: Judged, *, required: bool, weight: float, say: str) -> CheckResult:
    shown = (judged.sentence, judged.expected, judged.actual, judged.normalised)
    return CheckResult(condition.KIND, judged.passed, required, weight, *shown, say=say)


def _score(checks: tuple[CheckResult, ...]) -> float:
    total = sum(each.weight for each in checks)
    return sum(each.weight for each in checks if each.passed) / total


def _reason(
    task: Task, evidence: Evidence, checks: tuple[CheckResult, ...], guards: tuple[CheckResult, ...], ended_by: EndedBy
) -> tuple[str, str]:
    """Return a code and a sentence that say why the task is not solved, both empty if it is."""
    if ended_by not in (EndedBy.DONE, EndedBy.GAVE_UP):
        return ended_by.value, f"The rollout ended before the agent had reported: {ended_by.value.replace('_', ' ')}."
    if evidence.status != task.expect:
        reported = evidence.status or "nothing"
        return "status_wrong", f"The agent reported {reported}; the task expects {task.expect}."
    if failed := next((each for each in checks if each.required and not each.passed), None):
        return "format_wrong" if failed.kind == FormatCheck.KIND else "check_failed", failed.sentence
    if broken := next((each for each in guards if not each.passed), None):
        return "guard_broken", broken.sentence
    if any(each.weight for each in checks) and _score(checks) < task.pass_score - ROUNDING:
        return "score_too_low", f"The score is {_score(checks):.3g}; the task is solved from {task.pass_score:.3g} on."
    return "", ""
