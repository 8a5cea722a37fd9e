"""Paths, patterns, schemas, normalisation, and the answer in a text."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.rollout.values.answers import answer_in
from arena_kit.rollout.values.normalisation import KINDS, NotReadable, normalised
from arena_kit.rollout.values.paths import NOTHING, PathRefused, path_read
from arena_kit.rollout.values.patterns import PatternRefused, pattern_check, whole_matches
from arena_kit.rollout.values.schema import first_violation, schema_flaws
from arena_kit.tests.rollout.values import TEXTS, VALUES

DOCUMENT = {"rows": [{"name": "a", "tags": [1, 2]}, {"name": "b", "tags": []}], "odd key": {"": 5}, "none": None}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", DOCUMENT),
        ("$.rows[1].name", "b"),
        ("$.rows[-1].name", "b"),
        ("$.rows[*].name", ["a", "b"]),
        ("$.rows[*].tags[*]", [1, 2]),
        ("$['odd key'][\"\"]", 5),
        ("$.none", None),
        ("$.rows[2]", NOTHING),
        ("$.none.deeper", NOTHING),
        ("$.rows.name", NOTHING),
        ("$.rows[*].name[*]", NOTHING),
        ("$.none[*]", NOTHING),
    ],
)  # fmt: skip
def test_a_path_leads_to_a_value_or_to_nothing(path: str, found: Any) -> None:
    assert path_read(path).find(DOCUMENT) is found or path_read(path).find(DOCUMENT) == found


@pytest.mark.parametrize(
    "path", ["", "rows", "$.", "$..name", "$[a]", "$[1:2]", "$[?(@.a)]", "$.a b", "$" + ".a" * 200]
)
def test_a_path_that_is_not_understood_is_refused(path: str) -> None:
    with pytest.raises(PathRefused):
        path_read(path)


def test_patterns_describe_the_whole_text_in_linear_time() -> None:
    assert whole_matches(r"Order #\d+", "Order #17")
    assert not whole_matches(r"Order", "Order #17")
    assert not whole_matches(r"(a*)*b", "a" * 100_000)


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "((a{100}){100}){100}", "a" * 501])
def test_patterns_that_cost_or_mean_nothing_are_refused(pattern: str) -> None:
    with pytest.raises(PatternRefused):
        pattern_check(pattern)


SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"]),
        "minimum": st.integers(-5, 5),
        "exclusiveMaximum": st.integers(-5, 5),
        "minLength": st.integers(0, 4),
        "maxItems": st.integers(0, 3),
        "minProperties": st.integers(0, 2),
        "items": st.sampled_from([True, False, {"type": "number"}]),
        "required": st.lists(st.sampled_from(["a", ""]), max_size=2, unique=True),
        "additionalProperties": st.sampled_from([True, False, {"type": "string"}]),
        "enum": st.lists(st.sampled_from([0, 1.5, "a", None, True, False]), min_size=1, unique_by=repr),
    },
)


@given(SCHEMAS, VALUES)
def test_schemas_mean_what_they_mean_to_another_library(schema: dict[str, Any], value: Any) -> None:
    assert list(schema_flaws(schema)) == []
    theirs = jsonschema.Draft202012Validator(schema).is_valid(value)
    ours = first_violation(schema, value) == ""
    # Numbers within 1e-9 and texts that differ in white space alone are equal here.
    assert ours == theirs or ("enum" in schema and ours)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (3, "$"),
        ({"type": "text"}, "$.type"),
        ({"$ref": "#"}, '$["$ref"]'),
        ({"properties": {"a": {"minimum": "1"}}}, "$.properties.a.minimum"),
        ({"items": {"pattern": "("}}, "$.items.pattern"),
        ({"enum": []}, "$.enum"),
        ({"maxItems": -1}, "$.maxItems"),
        ({"required": "a"}, "$.required"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_schema_is_said_with_its_place(schema: Any, path: str) -> None:
    (flaw,) = schema_flaws(schema)
    assert (flaw.code, flaw.path) == ("bad_schema", path)


@pytest.mark.parametrize(
    ("value", "kind", "read"),
    [
        (" New\n York ", "text", "new york"),
        (12, "text", "12"),
        ("1,234.50", "number", 1234.5),
        ("\u22125", "number", -5.0),
        ("$1,234.50", "currency", [1234.5, "USD"]),
        ("12 EUR", "currency", [12.0, "EUR"]),
        ("-£3", "currency", [-3.0, "GBP"]),
        (7, "currency", [7.0, ""]),
        ("15 January 2026", "date", "2026-01-15"),
        ("Jan 15th, 2026", "date", "2026-01-15"),
        ("2026-01-15T09:00:00Z", "date", "2026-01-15"),
        ("Sept 3 2026", "date", "2026-09-03"),
        ("HTTP://Shop:80/a/?b=2&a=1#top", "url", "http://shop/a?a=1&b=2"),
        ("/orders/", "url", "/orders"),
        ("a, B;c", "list", ["a", "b", "c"]),
        (["1", 2], "number", [1.0, 2.0]),
    ],
)  # fmt: skip
def test_values_are_brought_into_one_form(value: Any, kind: str, read: Any) -> None:
    assert normalised(value, kind) == read


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("01/02/2026", "date"), ("30 February 2026", "date"), ("Foo 3 2026", "date"), ("1,5", "number"), ("", "number"),
        ("1 000", "number"), (True, "number"), (None, "text"), ({}, "text"), ("12 apples", "currency"),
        ("$5 USD", "currency"), ("USD", "currency"), (5, "url"), ("http://[", "url"), (5, "list"), ("९", "number"),
    ],
)  # fmt: skip
def test_what_is_ambiguous_or_of_another_kind_is_not_read(value: Any, kind: str) -> None:
    with pytest.raises(NotReadable):
        normalised(value, kind)


@given(VALUES, st.sampled_from(KINDS))
def test_a_value_in_its_one_form_stays_as_it_is(value: Any, kind: str) -> None:
    try:
        read = normalised(value, kind)
    except NotReadable:
        return
    if kind == "currency":
        return  # Its form is a pair, which is not read again.
    assert normalised(read, kind) == read


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('Here: {"price": 19.87} as asked.', {"price": 19.87}),
        ('First {"a": 1}, then {"b": {"c": [2]}}.', {"b": {"c": [2]}}),
        ('```json\n{"a": 1}\n```\nnot {"b": 2}', {"a": 1}),
        ("```\nno JSON\n```\n[1, 2] it is", [1, 2]),
        ("```\n42\n```", 42),
        ("  Rustic Paper Car \n", "Rustic Paper Car"),
        ("42", "42"),
        ('{"a": NaN} {"a": 1} {broken', {"a": 1}),
        ("", ""),
    ],
)  # fmt: skip
def test_the_answer_in_a_text_is_its_last_whole_json(text: str, answer: Any) -> None:
    assert answer_in(text) == answer


@given(st.dictionaries(TEXTS, VALUES, max_size=3), TEXTS)
def test_any_object_behind_words_is_found(value: dict[str, Any], words: str) -> None:
    assert answer_in(f"{words.replace('{', '').replace('[', '')} {json.dumps(value)} Done.") == value


def test_an_answer_longer_than_a_part_of_the_text_is_found_whole() -> None:
    value = {"rows": [{"name": f"row {n} with [brackets", "n": n} for n in range(2_000)]}
    assert answer_in(f"[1] The answer [see below] is {json.dumps(value)}.") == value
    assert answer_in(json.dumps(["x" * 4_093]) + json.dumps(["y" * 50_000])) == ["y" * 50_000]


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a":' * 30_000, "[{" * 50_000, '["' * 50_000, "```\n" * 25_000])
def test_hostile_texts_cost_little_and_end(text: str) -> None:
    assert isinstance(answer_in(text), str | list | dict)
