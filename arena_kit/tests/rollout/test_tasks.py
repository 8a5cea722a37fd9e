"""tasks.json: what is read, what is skipped and why, revisions, duplicates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.rollout.tasks.file import MOST_TASKS, TaskFile, TasksRefused, tasks_read
from arena_kit.rollout.tasks.reading import Rules, task_again
from arena_kit.rollout.tasks.revisions import Duplicate, KnownTask, near_duplicates, upload_plan
from arena_kit.rollout.tasks.task import RolloutLimits, Split, Task
from arena_kit.rollout.values.actions import ACTIONS, ActionRefused, action_read
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import NotJson, parse_json
from arena_kit.tests.rollout.values import VALUES

DASHBOARD = [
    {
        "id": "problem4",
        "task": "Retrieve the name, category and price. Return {product: str, category: str, price: number}.",
        "answer": '{"price": 19.87, "product": "Rustic Paper Car", "category": "Doohickey"}',
    },
    {"id": "problem5", "task": "Look around."},
]
FULL: dict[str, Any] = {
    "id": "refund-17", "task": "Refund order 17 in full with the reason 'damaged'.", "login": "clerk",
    "start_url": "/orders", "tags": ["change", "orders"], "difficulty": "medium", "split": "RANKING", "seed": 7,
    "format": {"type": "object", "required": ["balance"], "properties": {"balance": {"type": "number"}}},
    "checks": [
        {"kind": "sql", "weight": 2, "query": "SELECT status FROM refund WHERE order_id = 17", "rows": [["done"]]},
        {"kind": "answer", "path": "$.balance", "number": 58.5, "tolerance": 0.005},
    ],
    "guards": [{"kind": "unchanged", "except": {"refund": "*", "customer": ["balance"], "audit": "*"}}],
    "limits": {"steps": 20, "cost": 0.25}, "pass_score": 0.5, "expect": "SUCCESS", "tell_score": True,
    "oracle": [["goto", "/orders/17"], ["click", "role=button[name=Refund]"],
               ["select_option", "label=Reason", "damaged"], ["answer", {"balance": 58.5}]],
}  # fmt: skip


def read(document: Any, **rules: Any) -> TaskFile:
    return tasks_read(json.dumps(document).encode(), Rules(**rules))


def one(**keys: Any) -> Task:
    found = read([{"id": "a", "task": "Do it.", **keys}])
    assert found.skipped == ()
    return found.tasks[0]


def reason(**keys: Any) -> str:
    """The sentence about what is wrong with a task of these keys."""
    task = {"id": "a", "task": "Do it.", **keys}
    found = read([{name: value for name, value in task.items() if value is not NOTHING}])
    assert found.tasks == ()
    return str(found.skipped[0].as_json()["reason"])


def test_the_dashboards_form_is_read_as_it_is() -> None:
    found = read(DASHBOARD)
    assert [task.key for task in found.tasks] == ["problem4", "problem5"]
    first, second = found.tasks
    assert first.answer == {"price": 19.87, "product": "Rustic Paper Car", "category": "Doohickey"}
    assert [check.condition.KIND for check in first.checks] == ["answer"]
    assert (second.answer, second.is_judged) == (NOTHING, False)


def test_all_optional_keys_are_read() -> None:
    task = read({"schema": 1, "environment": "shop", "tasks": [FULL]}).tasks[0]
    assert (task.environment, task.login, task.start_url, task.seed) == ("shop", "clerk", "/orders", 7)
    assert task.limits == RolloutLimits(steps=20, cost_micros=250_000)
    assert [check.weight for check in task.checks] == [2.0, 1.0]
    assert task.split is Split.RANKING
    assert [action.name for action in task.oracle] == ["goto", "click", "select_option", "answer"]
    assert task.oracle[2].arguments == {"selector": "label=Reason", "values": ["damaged"]}


def test_defaults_hold_for_every_task_that_says_nothing_else() -> None:
    defaults = {"login": "clerk", "limits": {"steps": 9, "seconds": 60}, "tags": ["shop"]}
    tasks = [{"id": "a", "task": "x", "limits": {"steps": 3}}, {"id": "b", "task": "y", "login": "boss"}]
    first, second = read({"schema": 1, "defaults": defaults, "tasks": tasks}).tasks
    assert (first.login, first.limits.steps, first.limits.seconds, first.tags) == ("clerk", 3, 60, ("shop",))
    assert (second.login, second.limits.steps) == ("boss", 9)


@pytest.mark.parametrize("name", ["task", "instruction", "intent", "goal"])
def test_the_instruction_has_names_of_other_benchmarks(name: str) -> None:
    task = read([{"id": "a", name: " Do it. "}]).tasks[0]
    assert task.instruction == "Do it."
    assert task.content_sha256 == read([{"id": "b", "task": " Do it. "}]).tasks[0].content_sha256


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"a": 1}', {"a": 1}), ("42", 42), ("null", None), ('"x"', "x"), ("Paris", "Paris"), ("1,234", "1,234"),
        ({"a": 1}, {"a": 1}), (False, False), ([], []),
    ],
)  # fmt: skip
def test_an_answer_is_json_or_a_text_that_is_json(answer: Any, value: Any) -> None:
    task = one(answer=answer)
    assert task.answer == value
    assert type(task.answer) in (type(value), dict, list) or isinstance(value, dict | list)
    assert len(task.checks) == 1


def test_null_is_no_answer_as_on_the_older_dashboard() -> None:
    task = one(answer=None)
    assert (task.answer, task.checks, task.is_judged) == (NOTHING, (), False)
    assert task.content_sha256 == one().content_sha256
    assert task.fingerprint == one().fingerprint != one(answer="null").fingerprint


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"id": NOTHING}, "$[0]: The key id is missing."),
        ({"id": "a/b"}, "$[0].id: It must be 1 to 100 letters"),
        ({"id": ".."}, "$[0].id"),
        ({"id": "x" * 101}, "$[0].id"),
        ({"id": None}, "$[0].id"),
        ({"task": NOTHING}, "$[0]: The key task is missing."),
        ({"task": " "}, "$[0].task: It must be a text of 1 to 20,000 characters."),
        ({"goal": "Another."}, "$[0].goal: It means the same as task; keep one of them."),
        ({"answer": "NaN"}, "$[0].answer: The number is too large"),
        ({"start_url": "javascript:alert(1)"}, "$[0].start_url: It must be a path such as /orders"),
        ({"start_url": "//evil"}, "$[0].start_url"),
        ({"start_url": "file:///etc/passwd"}, "$[0].start_url"),
        ({"seed": -1}, "$[0].seed: It must be a whole number from 0"),
        ({"expect": "IMPOSSIBLE"}, '$[0].expect: "IMPOSSIBLE" is not known; use SUCCESS, NOT_FOUND'),
        ({"pass_score": 0}, "$[0].pass_score: It must be a number above 0 and at most 1."),
        ({"limits": {"steps": 0}}, "$[0].limits.steps"),
        ({"limits": {"step": 5}}, "$[0].limits.step: This key is not known here. Did you mean steps?"),
        ({"limits": []}, "$[0].limits: It must be an object in braces."),
        ({"tags": ["a,b"]}, '$[0].tags: "a,b" is not a tag'),
        ({"tags": "x" * 50}, "$[0].tags: It must be a list of at most 20 texts"),
        ({"difficulty": "brutal"}, "$[0].difficulty"),
        ({"split": "hidden"}, '$[0].split: "hidden" is not known; use PRACTICE, RANKING, HIDDEN.'),
        ({"checks": {}}, "$[0].checks: It must be a list of at most 50 objects in braces."),
        ({"checks": [{"kind": "answer", "equals": 1}, {"kind": "sq"}]}, '$[0].checks[1].kind: "sq" is not known'),
        ({"guards": [{"kind": "sql"}]}, '$[0].guards[0].kind: "sql" is not known'),
        ({"format": {"type": "text"}}, "$[0].format.type"),
        ({"oracle": []}, "$[0].oracle: It must be a list of 1 to 200 actions."),
        ({"oracle": [["click", "a"]]}, "$[0].oracle: Its last action, and no other one, is answer or give_up."),
        ({"oracle": [["answer", 1], ["answer", 1]]}, "$[0].oracle: Its last action"),
        ({"oracle": [["fly"], ["answer", 1]]}, '$[0].oracle[0]: "fly" is not an action'),
        ({"awnser": 1}, "$[0].awnser: This key is not known here. Did you mean answer?"),
        ({"task": "a\u0007"}, "$[0].task: The text contains the control character U+0007 at position 2; remove it."),
    ],
)
def test_what_is_wrong_with_a_task_is_said_in_a_sentence(keys: dict[str, Any], sentence: str) -> None:
    assert sentence in reason(**keys)


def test_values_that_lie_too_deep_are_named_whatever_key_they_stand_under() -> None:
    deep = '{"items": ' * 400 + "true" + "}" * 400
    for key in ("format", "answer", "checks", "oracle", "limits", "extra"):
        found = tasks_read(f'[{{"id": "a", "task": "x", "{key}": {deep}}}, {{"id": "b", "task": "y"}}]'.encode())
        assert [task.key for task in found.tasks] == ["b"]
        assert "too_deep" in [flaw.code for flaw in found.skipped[0].reasons]


def test_an_action_with_values_that_cannot_be_stored_is_refused() -> None:
    for value in (parse_json("[" * 40 + "]" * 40), float("nan"), "\x00"):
        with pytest.raises(ActionRefused):
            action_read({"action": "answer", "value": value})


def test_a_wrong_task_is_skipped_and_the_others_are_read() -> None:
    found = read([{"id": "a", "task": "x"}, 5, {"id": "a", "task": "y"}, {"id": "b"}, {"id": 7, "task": "z"}])
    assert [task.key for task in found.tasks] == ["a", "7"]
    assert [each.as_json() for each in found.skipped] == [
        {"index": 1, "id": "", "reason": "$[1]: A task must be an object in braces."},
        {"index": 2, "id": "a", "reason": "$[2].id: Another task of the file has the id a."},
        {"index": 3, "id": "b", "reason": "$[3]: The key task is missing."},
    ]


def test_a_key_that_stands_twice_is_found_under_defaults_too() -> None:
    twice = '[{"id": "a", "task": "x", "task": "y"}]'
    for text in (twice, f'{{"schema": 1, "defaults": {{"login": "z"}}, "tasks": {twice}}}'):
        assert tasks_read(text.encode()).skipped[0].reasons[0].code == "repeated_key"


def test_limits_logins_and_origins_are_those_of_the_environment() -> None:
    rules = {"limits": RolloutLimits(30, 600, 100, 1_000, 10), "logins": ["clerk"], "origins": ["http://shop:8000"]}
    task = {"id": "a", "task": "x", "limits": {"steps": 31}, "login": "boss", "start_url": "http://other/"}
    reasons = read([task], **rules).skipped[0].reasons
    assert sorted(flaw.path for flaw in reasons) == ["$[0].limits.steps", "$[0].login", "$[0].start_url"]
    good = {**task, "limits": {"steps": 30}, "login": "clerk", "start_url": "http://SHOP:8000/x"}
    assert read([good], **rules).skipped == ()


def test_a_limit_wider_than_that_of_the_package_is_refused_with_both_values_and_the_way_out() -> None:
    package = RolloutLimits(40, 600, 300, 500_000, 2_500_000)
    asked = {"steps": 60, "seconds": 600, "tokens": 1_000_000, "cost": 3}
    reasons = read([{"id": "refund-17", "task": "x", "limits": asked}], limits=package).skipped[0].reasons
    assert [flaw.path for flaw in reasons] == ["$[0].limits.steps", "$[0].limits.tokens", "$[0].limits.cost"]
    told = [flaw.message.removesuffix(" in environment.yml.") for flaw in reasons]
    assert told == [
        "The task refund-17 asks for 60, and its package allows 40. Lower it here, or raise limits.steps",
        "The task refund-17 asks for 1,000,000, and its package allows 500,000. Lower it here, or raise limits.tokens",
        "The task refund-17 asks for 3, and its package allows 2.5. Lower it here, or raise limits.cost",
    ]
    equal = {"steps": 40, "cost": 2.5}
    (task,) = read([{"id": "a", "task": "x", "limits": equal}], limits=package).tasks
    assert task.limits == package
    # A package without limits bounds no task, and a kept task is read as it was written.
    assert read([{"id": "a", "task": "x", "limits": {"cost": 900}}], limits=RolloutLimits()).skipped == ()
    assert task_again("a", {"task": "x", "limits": asked}).limits.steps == 60


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("tasks", "not_tasks"), ({"id": "a", "task": "x"}, "not_tasks"), ({"tasks": {}}, "not_tasks"),
        ({"tasks": []}, "bad_file"), ({"schema": 2, "tasks": []}, "bad_file"),
        ({"schema": 1, "tasks": [], "extra": 1}, "bad_file"),
        ({"schema": 1, "tasks": [], "defaults": {"id": "a"}}, "bad_file"),
        ({"schema": 1, "environment": "other", "tasks": []}, "bad_file"),
        ([{"id": "a", "task": "x"}] * (MOST_TASKS + 1), "too_many_tasks"),
    ],
)  # fmt: skip
def test_a_file_without_tasks_is_refused(document: Any, code: str) -> None:
    with pytest.raises(TasksRefused) as caught:
        read(document, environment="shop")
    assert caught.value.code == code


def test_bytes_that_are_no_json_are_refused() -> None:
    with pytest.raises(NotJson):
        tasks_read(b"[{]")


@given(VALUES)
def test_any_json_is_read_or_refused_with_reasons(document: Any) -> None:
    try:
        found = read(document)
    except TasksRefused:
        return
    assert all(each.reasons for each in found.skipped)


@given(st.dictionaries(st.sampled_from([*FULL]), VALUES, max_size=3))
def test_any_value_of_any_key_is_read_or_skipped_with_reasons(keys: dict[str, Any]) -> None:
    found = read([{**FULL, **keys}])
    assert len(found.tasks) + len(found.skipped) == 1
    for task in found.tasks:
        assert task_again(task.key, task.definition) == task


def test_a_task_is_read_again_from_what_was_kept() -> None:
    task = read({"schema": 1, "defaults": {"login": "x"}, "tasks": [{**FULL, "answer": '"42"'}]}).tasks[0]
    assert task_again(task.key, json.loads(json.dumps(task.definition))) == task
    assert task.answer == "42"
    with pytest.raises(ValueError, match="can no longer be read"):
        task_again("a", {"task": "x", "gone": 1})


def test_the_same_work_has_one_fingerprint_under_any_key() -> None:
    task = one(answer='{"a": 1, "b": 2.0}', tags=["x"])
    same = read([{"id": "b", "goal": "  DO\n it.", "answer": {"b": 2, "a": 1}}]).tasks[0]
    assert task.fingerprint == same.fingerprint
    for other in (
        one(answer={"a": 1}), one(answer={"a": 1, "b": 2}, login="x"), one(answer={"a": 1, "b": 2}, seed=1),
        one(answer={"a": 1, "b": 2}, checks=[{"kind": "steps", "max": 3}]), one(), one(answer=None),
    ):  # fmt: skip
        assert other.fingerprint != task.fingerprint


def test_labels_make_a_revision_that_stays_comparable() -> None:
    task, labelled, harder = one(), one(tags=["x"], oracle=[["answer", 1]]), one(limits={"steps": 3})
    assert task.content_sha256 != labelled.content_sha256
    assert task.work_sha256 == labelled.work_sha256 != harder.work_sha256


def known(*tasks: Task) -> dict[str, KnownTask]:
    return {task.key: KnownTask(task.key, 3, task.content_sha256, task.fingerprint) for task in tasks}


def test_an_upload_creates_revises_and_leaves_alone() -> None:
    old = read([{"id": "same", "task": "x"}, {"id": "changed", "task": "y"}]).tasks
    new = read([{"id": "same", "task": "x"}, {"id": "changed", "task": "Y again"}, {"id": "new", "task": "z"}]).tasks
    plan = upload_plan(new, known(*old))
    assert [task.key for task in plan.created] == ["new"]
    assert [(task.key, number) for task, number in plan.revised] == [("changed", 4)]
    assert [task.key for task in plan.unchanged] == ["same"]
    assert (plan.count, plan.duplicates) == (3, ())


def test_a_duplicate_is_named_and_written_only_if_allowed() -> None:
    old = read([{"id": "old", "task": "x"}]).tasks
    new = read([{"id": "new", "task": "X "}, {"id": "other", "task": "z"}, {"id": "twin", "task": "Z"}]).tasks
    plan = upload_plan(new, known(*old))
    assert plan.duplicates == (Duplicate("new", "old"), Duplicate("twin", "other"))
    assert [task.key for task in plan.created] == ["other"]
    assert len(upload_plan(new, known(*old), allow_duplicates=True).created) == 3


def test_two_tasks_may_change_places() -> None:
    old = read([{"id": "a", "task": "x"}, {"id": "b", "task": "y"}]).tasks
    new = read([{"id": "a", "task": "y"}, {"id": "b", "task": "x"}]).tasks
    plan = upload_plan(new, known(*old))
    assert (len(plan.revised), plan.duplicates) == (2, ())


def test_tasks_that_are_nearly_the_same_are_listed() -> None:
    words = "Find the product that was ordered most often in March and tell its name and price in euros please now"
    tasks = read(
        [
            {"id": "a", "task": words, "answer": 1}, {"id": "b", "task": words + " thanks", "answer": 2},
            {"id": "c", "task": "Something else", "answer": 1}, {"id": "d", "task": "Nothing of it", "answer": 3},
        ]
    ).tasks  # fmt: skip
    assert near_duplicates(tasks) == (("a", "b"), ("a", "c"))


@given(st.lists(st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=12), min_size=2, max_size=8))
def test_near_duplicates_are_those_of_all_pairs(instructions: list[list[str]]) -> None:
    tasks = read([{"id": str(n), "task": " ".join(words)} for n, words in enumerate(instructions)]).tasks
    bags = [set(words) for words in instructions]
    wanted = {
        (str(i), str(j))
        for i in range(len(bags))
        for j in range(i + 1, len(bags))
        if len(bags[i] & bags[j]) >= 0.9 * len(bags[i] | bags[j])
    }
    assert set(near_duplicates(tasks)) == wanted


@pytest.mark.parametrize(
    "action",
    [
        {"action": "click", "ref": "e7", "note": "why"}, {"action": "click", "x": 3, "y": 4.5, "scale": 1000},
        {"action": "fill", "ref": "e1", "text": ""}, {"action": "drag", "from": "e1", "to": [3, 4]},
        {"action": "wait", "seconds": 5}, {"action": "answer", "value": None}, {"action": "screenshot"},
        {"action": "select_option", "ref": "e1", "values": "a"}, {"action": "give_up", "status": "NOT_FOUND"},
    ],
)  # fmt: skip
def test_an_action_of_an_agent_is_read(action: dict[str, Any]) -> None:
    read_action = action_read(action)
    assert read_action.name in ACTIONS
    assert action_read(read_action.as_json()) == read_action


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ({}, "unknown_action"), ([], "bad_action"), ("click", "bad_action"), ({"action": []}, "unknown_action"),
        ({"action": "click"}, "bad_argument"), ({"action": "click", "x": 1}, "bad_argument"),
        ({"action": "click", "ref": 7}, "bad_argument"), ({"action": "click", "ref": "e1", "js": "x"}, "bad_argument"),
        ({"action": "click", "selector": "role=button"}, "bad_argument"),
        ({"action": "wait", "seconds": 6}, "bad_argument"),
        ({"action": "click", "x": True, "y": 1}, "bad_argument"),
        ({"action": "fill", "ref": "e1", "text": "x" * 20_001}, "bad_argument"),
        ({"action": "evaluate", "text": "1"}, "unknown_action"),
        ({"action": "drag", "from": [1], "to": "e"}, "bad_argument"),
        (["click", "e7"], "bad_action"),
    ],
)  # fmt: skip
def test_an_action_that_does_not_fit_is_refused(action: Any, code: str) -> None:
    with pytest.raises(ActionRefused) as caught:
        action_read(action)
    assert caught.value.code == code
    assert str(caught.value).endswith(".")


@given(VALUES)
def test_any_value_is_an_action_or_refused(value: Any) -> None:
    with pytest.raises(ActionRefused):
        action_read(value, scripted=True)
