"""The rule of equality."""

from __future__ import annotations

import random
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.rollout.values.equality import are_equal, difference_in_any_order, first_difference, numbers_equal
from arena_kit.tests.rollout.values import TEXTS, VALUES


def turned(value: Any) -> Any:
    """The same value in another form: keys in another order, whole numbers as reals, texts decomposed and padded."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [turned(each) for each in value]
    if isinstance(value, str):
        return f" {unicodedata.normalize('NFD', value)}\n"
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@given(VALUES)
def test_a_value_equals_itself_in_any_form(value: Any) -> None:
    assert are_equal(value, turned(value))
    assert are_equal(turned(value), value)


@given(VALUES, VALUES)
def test_equality_does_not_depend_on_the_side(one: Any, other: Any) -> None:
    assert are_equal(one, other) == are_equal(other, one)


@given(st.lists(VALUES, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_lists_in_any_order_are_equal_to_their_permutations(values: list[Any], chance: random.Random) -> None:
    mixed = [turned(each) for each in values]
    chance.shuffle(mixed)
    assert difference_in_any_order(values, mixed) is None
    assert difference_in_any_order(values, [*mixed[1:], {"another": "value"}]) is not None


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_a_list_that_is_longer_is_another_one(values: list[Any]) -> None:
    assert not are_equal(values, [*values, values[0]])
    assert difference_in_any_order(values, [*values, values[0]]) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1), (False, 0), (1, "1"), (None, False), (None, 0), ("", None), ([], {}), (float("nan"), float("nan")),
        (1.0, 1.00001), (1e9, 1e9 + 10), ("a", "A"), ("a b", "a  b"), ([1, 2], [2, 1]), ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}), ([True], [1]), (0, 1e-8), (b"a", "a"),
    ],
)  # fmt: skip
def test_these_are_different(one: Any, other: Any) -> None:
    assert not are_equal(one, other)
    assert not are_equal(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (0.1 + 0.2, 0.3), (0, 1e-10), (1e12, 1e12 + 100), ("é", "e\u0301"), ("x ", "x"), (None, None)],
)
def test_these_are_equal(one: Any, other: Any) -> None:
    assert are_equal(one, other)


def test_a_tolerance_is_absolute_and_never_narrows_the_rule() -> None:
    assert numbers_equal(58.5, 58.504, 0.005)
    assert not numbers_equal(58.5, 58.506, 0.005)
    assert numbers_equal(1e12, 1e12 + 100, 0.005)


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        ({"ratings": [5, 4.6]}, {"ratings": [5, 5]}, "$.ratings[1]: 5 is not 4.6"),
        ({"a b": 1}, {}, '$["a b"]: nothing is not 1'),
        ({}, {"x": "y"}, '$.x: "y" is not nothing'),
        ([1], [1, 2], "$: a list of 2 elements is not a list of 1 element"),
    ],
)
def test_the_first_difference_is_said_with_its_place(one: Any, other: Any, sentence: str) -> None:
    found = first_difference(one, other)
    assert found is not None
    assert found.sentence == sentence


@given(TEXTS)
def test_a_difference_shows_no_control_characters(text: str) -> None:
    found = first_difference("expected", f"\x1b[31m{text}\u202e" * 50)
    assert found is not None
    assert len(found.sentence) < 600
    assert not any(unicodedata.category(letter) in ("Cc", "Cf") for letter in found.sentence)


def test_near_numbers_find_partners_in_any_order() -> None:
    # 1.0 could take either element of the other list; only one choice leaves a partner for the second.
    assert difference_in_any_order([1.0, 1.0 + 1.5e-9], [1.0 + 0.9e-9, 1.0]) is None


def test_large_lists_without_identical_elements_are_refused_in_little_time() -> None:
    assert difference_in_any_order(list(range(5_000)), list(range(1, 5_001))) is not None
    assert difference_in_any_order([[n] for n in range(5_000)], [[n] for n in reversed(range(5_000))]) is None
