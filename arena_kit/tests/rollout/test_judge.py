"""Verdicts: outcomes, partial credit, guards, faults in three kinds."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.environment.records import Fault
from arena_kit.rollout.checks.evidence import Evidence
from arena_kit.rollout.judge import EndedBy, TaskOutcome, TaskVerdict, platform_verdict, rollout_verdict
from arena_kit.rollout.tasks.file import tasks_read
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.tests.rollout.test_tasks import FULL
from arena_kit.tests.rollout.worlds import CUSTOMER, REFUND, refunded, shop


def task(**keys: Any) -> Task:
    found = tasks_read(json.dumps([{"id": "a", "task": "Do it.", **keys}]).encode())
    assert found.skipped == ()
    return found.tasks[0]


def judged(of: Task, ended_by: EndedBy = EndedBy.DONE, **left: Any) -> TaskVerdict:
    return rollout_verdict(of, Evidence(**{"status": "SUCCESS", **left}), ended_by)


REFUND_TASK = task(**{name: value for name, value in FULL.items() if name not in ("id", "task", "pass_score")})


def test_a_task_is_solved_by_answer_state_and_guards() -> None:
    verdict = judged(REFUND_TASK, answer={"balance": 58.5}, before=shop(), after=refunded())
    assert (verdict.outcome, verdict.score, verdict.code) == (TaskOutcome.SOLVED, 1.0, "")
    assert [(each.kind, each.passed) for each in verdict.checks] == [("format", True), ("sql", True), ("answer", True)]
    assert [each.passed for each in verdict.guards] == [True]


def test_doing_nothing_does_not_solve_it() -> None:
    verdict = judged(REFUND_TASK, answer=None, before=shop(), after=shop())
    assert (verdict.outcome, verdict.score, verdict.code) == (TaskOutcome.NOT_SOLVED, 0.0, "format_wrong")


def test_a_part_gives_a_part_of_the_points() -> None:
    verdict = judged(REFUND_TASK, answer={"balance": 1}, before=shop(), after=refunded())
    assert (verdict.outcome, verdict.code) == (TaskOutcome.PARTIAL, "check_failed")
    assert verdict.score == pytest.approx(2 / 3)
    assert verdict.sentence == "$.balance: 1 is not 58.5 within 0.005."


def test_a_broken_guard_takes_the_success_and_not_the_points() -> None:
    harmed = shop(refund=REFUND + "17,done,damaged,41.5\n", customer=CUSTOMER.replace("Ada", "Eve"))
    verdict = judged(REFUND_TASK, answer={"balance": 58.5}, before=shop(), after=harmed)
    assert (verdict.outcome, verdict.score, verdict.code) == (TaskOutcome.PARTIAL, 1.0, "guard_broken")
    assert verdict.sentence == 'customer (id 1): name was "Ada" and is "Eve".'


@pytest.mark.parametrize(
    ("required", "pass_score", "outcome", "code"),
    [
        (True, 0.5, TaskOutcome.PARTIAL, "check_failed"),
        (False, 0.5, TaskOutcome.SOLVED, ""),
        (False, 0.51, TaskOutcome.PARTIAL, "score_too_low"),
        (False, 1, TaskOutcome.PARTIAL, "score_too_low"),
    ],
)
def test_checks_that_are_not_required_count_by_their_points(
    required: bool, pass_score: float, outcome: TaskOutcome, code: str
) -> None:
    checks = [
        {"kind": "answer", "path": "$.a", "equals": 1},
        {"kind": "answer", "path": "$.b", "equals": 1, "required": required},
    ]
    verdict = judged(task(checks=checks, pass_score=pass_score), answer={"a": 1, "b": 2})
    assert (verdict.outcome, verdict.score, verdict.code) == (outcome, 0.5, code)


def test_thirds_add_up_to_a_whole() -> None:
    checks = [{"kind": "answer", "equals": 1, "weight": 0.1, "required": False} for _ in range(3)]
    assert judged(task(checks=checks), answer=1).outcome is TaskOutcome.SOLVED


@pytest.mark.parametrize(
    ("expect", "status", "answer", "outcome"),
    [
        ("NOT_FOUND", "NOT_FOUND", NOTHING, TaskOutcome.SOLVED),
        ("NOT_FOUND", "SUCCESS", None, TaskOutcome.NOT_SOLVED),
        ("NOT_FOUND", "UNKNOWN", NOTHING, TaskOutcome.NOT_SOLVED),
        ("NOT_FOUND", "", NOTHING, TaskOutcome.NOT_SOLVED),
    ],
)
def test_giving_up_needs_the_right_code(expect: str, status: str, answer: Any, outcome: TaskOutcome) -> None:
    verdict = judged(task(expect=expect), EndedBy.GAVE_UP, status=status, answer=answer)
    assert (verdict.outcome, verdict.score) == (outcome, float(outcome is TaskOutcome.SOLVED))


def test_a_right_answer_with_a_wrong_status_is_not_solved() -> None:
    assert judged(task(answer=1), answer=1, status="NOT_FOUND").code == "status_wrong"


def test_without_answer_and_checks_nothing_is_judged() -> None:
    verdict = judged(task(), answer=5)
    assert (verdict.outcome, verdict.counts, verdict.fault) == (TaskOutcome.UNJUDGED, False, Fault.NONE)


@pytest.mark.parametrize("ended_by", [EndedBy.STEP_LIMIT, EndedBy.TOKEN_LIMIT, EndedBy.COST_LIMIT, EndedBy.TIME_LIMIT])
def test_a_limit_is_no_fault_and_no_success(ended_by: EndedBy) -> None:
    checks = [{"kind": "sql", "query": "SELECT 1 FROM refund WHERE order_id = 17", "not_empty": True}]
    verdict = judged(task(checks=checks), ended_by, status="", after=refunded())
    assert (verdict.outcome, verdict.fault, verdict.score) == (TaskOutcome.PARTIAL, Fault.NONE, 1.0)
    assert (verdict.code, verdict.counts) == (ended_by.value, True)


def test_the_agents_fault_is_not_solved_and_keeps_the_score_for_information() -> None:
    checks = [{"kind": "sql", "query": "SELECT 1 FROM refund WHERE order_id = 17", "not_empty": True}]
    verdict = rollout_verdict(
        task(checks=checks), Evidence(after=refunded()), EndedBy.AGENT_FAULT, fault_code="exception"
    )
    assert (verdict.outcome, verdict.fault, verdict.score) == (TaskOutcome.NOT_SOLVED, Fault.PLAYER, 1.0)
    assert (verdict.code, verdict.is_solved, verdict.counts) == ("exception", False, True)


def test_missing_evidence_is_the_platforms_fault_and_counts_for_nothing() -> None:
    verdict = judged(REFUND_TASK, answer={"balance": 58.5})
    assert (verdict.outcome, verdict.fault, verdict.code) == (TaskOutcome.UNJUDGED, Fault.PLATFORM, "judge_failed")
    assert not verdict.counts
    assert not platform_verdict("world_not_healthy", "The service web did not start.").counts


def test_a_question_that_the_agent_made_too_large_is_not_the_platforms_fault() -> None:
    crowd = ", ".join(f"customer c{n}" for n in range(14))
    checks = [{"kind": "sql", "query": f"SELECT count(*) FROM {crowd}", "value": 1}]
    verdict = judged(task(checks=checks), after=shop())
    assert (verdict.outcome, verdict.fault) == (TaskOutcome.NOT_SOLVED, Fault.NONE)
    assert "more than 1,000,000 steps" in verdict.sentence


def test_a_cancelled_rollout_has_no_verdict() -> None:
    assert judged(task(answer=1), EndedBy.CANCELLED, answer=1).outcome is TaskOutcome.UNJUDGED


def test_a_verdict_is_the_same_every_time_and_is_stored_as_json() -> None:
    left = Evidence(answer={"balance": 1}, status="SUCCESS", before=shop(), after=refunded())
    first, second = (rollout_verdict(REFUND_TASK, left, EndedBy.DONE) for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first.as_json()))["outcome"] == "PARTIAL"
    assert first.judge_version == 1


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=6), st.floats(0.01, 1))
def test_success_is_all_that_is_required_and_enough_points(
    checks: list[tuple[bool, bool, int]], pass_score: float
) -> None:
    written = [
        {"kind": "answer", "path": f"$[{place}]", "equals": True, "required": required, "weight": weight}
        for place, (_, required, weight) in enumerate(checks)
    ]
    verdict = judged(task(checks=written, pass_score=pass_score), answer=[good for good, _, _ in checks])
    total = sum(weight for _, _, weight in checks)
    score = sum(weight for good, _, weight in checks if good) / total if total else None
    solved = all(good for good, required, _ in checks if required) and (score is None or score >= pass_score - 1e-9)
    assert verdict.is_solved is solved
    assert verdict.score == (float(solved) if score is None else pytest.approx(score))
    assert 0 <= verdict.score <= 1


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_more_that_is_right_never_makes_a_verdict_worse(right: list[bool]) -> None:
    checks = [
        {"kind": "answer", "path": f"$[{place}]", "equals": True, "required": False} for place in range(len(right))
    ]
    of = task(checks=checks, pass_score=0.6)
    scores = []
    for count in range(len(right) + 1):
        better = [True] * count + right[count:]
        scores.append((judged(of, answer=better).is_solved, judged(of, answer=better).score))
    assert scores == sorted(scores)


def test_evidence_is_not_changed_by_judging() -> None:
    left = Evidence(answer={"balance": 58.5}, status="SUCCESS", before=shop(), after=refunded())
    assert left.before is not None
    digest = left.before.digest()
    rollout_verdict(REFUND_TASK, left, EndedBy.DONE)
    assert left.before.digest() == digest
    assert dataclasses.replace(left) == left
