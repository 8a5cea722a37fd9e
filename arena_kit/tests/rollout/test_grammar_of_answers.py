"""What of a text is an answer, by the kind of value that the check expects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arena_kit.rollout.checks.values import AnswerCheck, FormatCheck, answer_equals
from arena_kit.rollout.values.answers import answer_said
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.older_actions import TEXTS
from arena_kit.rollout.values.reading import read_as


class Said:
    """Evidence of an answer alone."""

    def __init__(self, text: str) -> None:
        self.answer = answer_said(text)


def passes(expected: Any, text: str) -> bool:
    return answer_equals(expected).judge(Said(text)).passed  # type: ignore[arg-type]


FENCED = '```json\n{"n": 3}\n```'


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (42, "42"),
        (True, "true"),
        (-3.5, "-3.5"),
        (None, "null"),
        (False, "False"),
        (42, " 42.\n"),
        (42, "**42**"),
        (42, "`42`"),
        (42, '"42"'),
        (42, "\u201c42\u201d"),
        (42, "The answer: 42"),
        (42, "I counted them.\n\nFinal answer: **42**."),
        (1234.5, "1,234.5"),
        (42, "\u00a042\u202f"),
        (-3.5, "\u22123.5"),
        (42, "42\n"),
        (42, "```json\n42\n```"),
        (42, "So:\n\n```\n42\n```\n"),
        (42, "The answer is \\boxed{42}."),
        (42, "The answer is 42."),
        (42, "x = 42"),
        (42, "#### 42"),
        (42, "42\u3002"),
        (1234567, "1\u202f234\u202f567"),
        (None, "None"),
        ("a-b", "a\u2011b"),
        ({"n": 3}, '{"n": 3}\n\nSources: [1]'),
        ({"n": 3}, '{"n": 3}\n\nSources: [1], [2]'),
        ({"n": 3}, f"{FENCED}\nSources: [1]"),
        ({"n": 3}, "{\u201cn\u201d: 3}"),
        ({"n": 3}, '{"n":\u00a03}'),
        ({"n": 3}, 'First {"n": 1}, then {"n": 3}.'),
        ([1, 2], "The list is [1, 2]."),
        ([1, 2], '{"n": 3} and [1, 2]'),
        ([], "[]"),
        ("Berlin", "Berlin"),
        ("Berlin", '"Berlin"'),
        ("Berlin", "**Berlin**."),
        ("42", "42"),
        ('it\'s "so"', "it\u2019s \u201cso\u201d"),
        ("a b", "a\u00a0b"),
    ],
)
def test_an_answer_is_read_as_the_kind_that_is_expected(expected: Any, text: str) -> None:
    assert passes(expected, text)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (42, "43"),
        (42, "between 3 and 42"),
        (42, "42 or 43"),
        (42, "It is not 42"),
        (42, "See https://x/?page=42"),
        (42, "```\n41\n42\n```\nor 43"),
        (4243, "42 43"),
        (42, "fourty-two"),
        (7, "007"),
        (1, "true"),
        (True, "1"),
        (None, ""),
        ({"n": 3}, '{"n": 3} no, {"n": 4}'),
        ([1, 2], "[1, 2]\n\nSources: [1]"),
        ("Berlin", "Berlin or Paris"),
        ("Berlin", "berlin"),
        ("a  b", "a b"),
    ],
)
def test_what_is_not_the_answer_does_not_pass(expected: Any, text: str) -> None:
    assert not passes(expected, text)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"path": "$.n", "equals": 3}, '{"n": 3}\n\nSources: [1]'),
        ({"path": "$[0]", "equals": 5}, '{"n": 3}: [5]'),
        ({"one_of": [41, 42]}, "42"),
        ({"one_of": [41, "42 pieces"]}, "42 pieces"),
        ({"set": [1, 2]}, "They are [2, 1]."),
        ({"number": 42, "tolerance": 1}, "41.5"),
        ({"number": 42, "as": "number"}, "42"),
        ({"schema": {"type": "integer"}}, "42"),
        ({"schema": {"type": "object"}}, '{"n": 3} [1]'),
        ({"matches": "4[0-9]"}, "42"),
    ],
)
def test_every_way_of_a_check_reads_by_the_same_grammar(keys: dict[str, Any], text: str) -> None:
    flaws: list[Any] = []
    check = AnswerCheck.read(Fields(keys, "$", flaws))
    assert not flaws
    assert check is not None
    assert check.judge(Said(text)).passed  # type: ignore[arg-type]


def test_the_format_of_an_answer_is_checked_by_the_same_grammar() -> None:
    check = FormatCheck({"type": "object", "required": ["n"]})
    assert check.judge(Said('{"n": 3}\n\nSources: [1]')).passed  # type: ignore[arg-type]
    assert not check.judge(Said("[1]")).passed  # type: ignore[arg-type]


def test_an_answer_that_is_no_text_is_taken_as_it_is() -> None:
    assert read_as([1], {"object"}) == [1]
    assert read_as("x", {"number"}) == "x"
    assert read_as("42", {"string", "number"}) == "42"


def test_sources_behind_an_answer_are_kept_with_it() -> None:
    made = TEXTS["send_msg_to_user"]('{"n": 3}\n\nSources: [1]')
    assert made["value"] == '{"n": 3}\n\nSources: [1]'
    assert TEXTS["send_msg_to_user"](json.dumps([1, 2]))["value"] == [1, 2]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("task_id", "id"),
        ("expected_answer", "answer"),
        ("ID_", ""),
        ("Task", "task"),
        ("anwser", "answer"),
        ("the_task", "task"),
    ],
)
def test_an_unknown_key_names_the_one_that_is_meant(name: str, meant: str) -> None:
    flaws: list[Any] = []
    fields = Fields({name: "x"}, "$", flaws)
    for known in ("id", "task", "answer"):
        fields.take(known)
    fields.finish()
    assert flaws[0].message.endswith(f"Did you mean {meant}?" if meant else "not known here.")
