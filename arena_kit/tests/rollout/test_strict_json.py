from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from arena_kit.rollout.values.strict_json import (
    MOST_FLAWS,
    NotJson,
    canonical,
    flaws,
    is_flawless,
    parse_json,
    read_json,
)
from arena_kit.tests.rollout.values import VALUES


@given(VALUES)
def test_what_json_writes_is_read_back_without_flaws(value: Any) -> None:
    read = read_json(json.dumps(value).encode(), most_bytes=1 << 20)
    assert read == value
    assert is_flawless(read)


@given(VALUES)
def test_the_canonical_text_is_that_of_any_order_of_keys(value: Any) -> None:
    turned = json.loads(json.dumps(value), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert canonical(turned) == canonical(value)
    assert canonical(json.loads(canonical(value))) == canonical(value)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{" * 100_000, "too_deep"),
        (b"[" + b"1," * 600_000 + b"1]", "too_many_values"),
        (b'{"a": ', "invalid_json"),
        (b"\xff\xfe", "not_utf8"),
        (b" " * 2_000_000, "too_large"),
        (b"", "invalid_json"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_by_a_code(data: bytes, code: str) -> None:
    with pytest.raises(NotJson) as caught:
        read_json(data, most_bytes=1_500_000)
    assert caught.value.code in (code, "invalid_json" if code == "too_deep" else code)


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        ('[1, {"a": NaN}]', "bad_number", "$[1].a"),
        ("[1e999]", "bad_number", "$[0]"),
        ("[9223372036854775808]", "bad_number", "$[0]"),
        ('{"a": 1, "b": 2, "a": 3}', "repeated_key", "$.a"),
        (r'{"a b": "x\u0000"}', "bad_character", '$["a b"]'),
        (r'["\ud800"]', "bad_character", "$[0]"),
        (r'["\u202eevil"]', "bad_character", "$[0]"),
        ("[" * 40 + "]" * 40, "too_deep", "$" + "[0]" * 32),
    ],
)  # fmt: skip
def test_what_cannot_be_stored_or_shown_is_named_with_its_place(text: str, code: str, path: str) -> None:
    (flaw,) = flaws(parse_json(text))
    assert (flaw.code, flaw.path) == (code, path)


def test_a_large_whole_number_of_64_bits_is_kept() -> None:
    assert parse_json("[9223372036854775807, -9223372036854775808]") == [2**63 - 1, -(2**63)]


def test_no_more_flaws_than_a_person_reads_are_named() -> None:
    assert len(list(flaws(parse_json("[" + "NaN," * 5_000 + "1]")))) == MOST_FLAWS
