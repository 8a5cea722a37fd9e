"""Every kind of check, passed, failed and with wrong keys; normalisation; guards."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from arena_kit.rollout.checks.base import Judged
from arena_kit.rollout.checks.evidence import Evidence, EvidenceMissing
from arena_kit.rollout.checks.kinds import CHECKS, GUARDS, check_read, guard_read
from arena_kit.rollout.exports.requests import requests_in
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import Flaw
from arena_kit.tests.rollout.worlds import AUDIT, CUSTOMER, REFUND, har, refunded, shop

ANSWER = {
    "balance": 58.5, "name": " Rustic Paper Car", "tags": ["b", "a"], "price": "$1,234.50", "when": "15 Jan 2026",
    "paid": True, "count": 3,
}  # fmt: skip
REQUESTS = requests_in(
    json.dumps(
        har(
            {"url": "http://shop:8000/orders?page=2&sort=asc&token=x"},
            {
                "url": "http://shop:8000/orders/17/refund",
                "method": "POST",
                "status": 302,
                "body": "reason=damaged&full=1",
            },
            {
                "url": "http://shop:8000/api/orders/17",
                "method": "PUT",
                "body": '{"note": "hi", "n": 2}',
                "kind": "application/json",
            },
            {"url": "http://shop:8000/slow", "status": 503},
        )
    ).encode()
)


def evidence() -> Evidence:
    return Evidence(
        answer=ANSWER, status="SUCCESS", before=shop(), after=refunded(), requests=REQUESTS,
        last_url="http://shop:8000/orders/17?tab=refunds&t=1",
        last_page='- heading "Order 17"\n  - text: refunded  in full',
        actions=("goto", "click", "fill", "answer"), origins=("http://shop:8000",),
    )  # fmt: skip


@pytest.fixture(scope="module", name="left")
def _left() -> Evidence:
    return evidence()


def check(keys: dict[str, Any]) -> Any:
    flaws: list[Flaw] = []
    found = check_read(keys, "$", flaws)
    assert flaws == []
    assert found is not None
    return found.condition


def guard(keys: dict[str, Any]) -> Any:
    flaws: list[Flaw] = []
    found = guard_read(keys, "$", flaws)
    assert flaws == []
    assert found is not None
    return found.condition


PASSED: list[dict[str, Any]] = [
    {"kind": "answer", "path": "$.balance", "equals": 58.5},
    {"kind": "answer", "path": "$.balance", "number": 58.503, "tolerance": 0.005},
    {"kind": "answer", "path": "$.name", "equals": "Rustic Paper Car"},
    {"kind": "answer", "path": "$.name", "equals": "RUSTIC paper  car", "as": "text"},
    {"kind": "answer", "path": "$.name", "one_of": ["x", "Rustic Paper Car"]},
    {"kind": "answer", "path": "$.name", "contains_all": ["Paper", "Car"]},
    {"kind": "answer", "path": "$.name", "matches": "Rustic .* Car"},
    {"kind": "answer", "path": "$.tags", "set": ["a", "b"]},
    {"kind": "answer", "path": "$.tags", "contains_all": ["a"]},
    {"kind": "answer", "path": "$.price", "equals": 1234.5, "as": "currency"},
    {"kind": "answer", "path": "$.price", "equals": "USD 1234.50", "as": "currency"},
    {"kind": "answer", "path": "$.price", "number": 1234.5, "as": "currency"},
    {"kind": "answer", "path": "$.price", "one_of": ["5 EUR", "$1234.5"], "as": "currency"},
    {"kind": "answer", "path": "$.when", "equals": "2026-01-15", "as": "date"},
    {"kind": "answer", "path": "$.count", "matches": "[0-9]"},
    {"kind": "answer", "schema": {"type": "object", "required": ["balance"]}},
    {"kind": "sql", "query": "SELECT status, reason FROM refund WHERE order_id = 17", "rows": [["done", "damaged"]]},
    {"kind": "sql", "query": "SELECT amount FROM refund WHERE order_id = 17", "value": 41.5},
    {"kind": "sql", "query": "SELECT name FROM customer", "row_set": [["Bob"], [None], ["Ada"]]},
    {"kind": "sql", "query": "SELECT 1 = 1", "value": True},
    {"kind": "sql", "query": "SELECT name FROM customer WHERE id = 3", "value": None},
    {"kind": "sql", "query": "SELECT 1 FROM refund WHERE order_id = 99", "empty": True},
    {"kind": "sql", "query": "SELECT 1 FROM refund", "not_empty": True},
    {"kind": "sql", "query": "SELECT 1 FROM refund", "count": 2},
    {"kind": "sql", "query": "SELECT 1 FROM refund", "count": {"min": 1}},
    {"kind": "json", "file": "settings.json", "path": "$.theme", "equals": "dark"},
    {"kind": "file", "name": "notes.txt", "sha256": hashlib.sha256(b"first line\nsecond line\n").hexdigest()},
    {"kind": "file", "name": "notes.txt", "matches": "(?s)first.*line"},
    {"kind": "file", "name": "notes.txt", "lines": ["first line", "second line"]},
    {"kind": "request", "method": "POST", "path": "/orders/{id}/refund", "form": {"reason": "damaged"}, "status": 302},
    {"kind": "request", "path": "/orders/17/refund", "form": {"reason": "damaged", "full": 1}, "exact": True},
    {"kind": "request", "path": "/orders", "query": {"page": 2, "sort": None}, "exact": True, "ignore": ["token"]},
    {"kind": "request", "method": "PUT", "path": "/api/orders/{id}", "form": {"n": 2}, "last": True},
    {"kind": "request", "method": "DELETE", "path": "/orders/{id}", "count": 0},
    {"kind": "url", "path": "/orders/{id}", "query": {"tab": "refunds"}},
    {"kind": "url", "path": "/orders/17", "query": {"tab": "refunds"}, "exact": True, "ignore": ["t"]},
    {"kind": "page", "contains": ["Order 17", "refunded in full"]},
    {"kind": "steps", "max": 4, "never": ["upload"]},
]
FAILED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "answer", "equals": {}}, "$.balance: 58.5 is not nothing."),
    ({"kind": "answer", "path": "$.lost", "equals": None}, "$.lost leads to nothing."),
    ({"kind": "answer", "path": "$.paid", "equals": 1}, "$.paid: true is not 1."),
    ({"kind": "answer", "path": "$.paid", "number": 1}, "$.paid: true is not 1."),
    (
        {"kind": "answer", "path": "$.balance", "number": 58.6, "tolerance": 0.05},
        "$.balance: 58.5 is not 58.6 within 0.05.",
    ),
    ({"kind": "answer", "path": "$.price", "number": 1234.5}, '$.price: "$1,234.50" is not 1234.5.'),
    (
        {"kind": "answer", "path": "$.price", "equals": "EUR 1234.5", "as": "currency"},
        '$.price[1]: "USD" is not "EUR".',
    ),
    (
        {"kind": "answer", "path": "$.name", "equals": "2026-01-15", "as": "date"},
        '$.name: " Rustic Paper Car" is not a date',
    ),
    (
        {"kind": "answer", "path": "$.name", "matches": "Rustic"},
        '$.name: " Rustic Paper Car" does not match the pattern.',
    ),
    ({"kind": "answer", "path": "$.tags", "set": ["a", "a"]}, '$.tags: ["b", "a"] is not a list with "a".'),
    ({"kind": "answer", "path": "$.tags", "contains_all": ["c"]}, '$.tags: "c" is not in it.'),
    ({"kind": "answer", "path": "$.name", "one_of": ["rustic paper car"]}, "is not among the 1 accepted values"),
    ({"kind": "answer", "schema": {"required": ["total"]}}, "$.total is missing."),
    ({"kind": "sql", "query": "SELECT 1 FROM refund", "empty": True}, "The query returns 2 rows."),
    ({"kind": "sql", "query": "SELECT 1 FROM refund WHERE 0", "not_empty": True}, "The query returns no rows."),
    ({"kind": "sql", "query": "SELECT amount FROM refund", "value": 41.5}, "not with one row of one column."),
    ({"kind": "sql", "query": "SELECT * FROM lost", "count": 0}, "no such table: lost"),
    (
        {"kind": "sql", "query": "SELECT name FROM customer WHERE id = 1", "rows": [["Bob"]]},
        '$[0][0]: "Ada" is not "Bob".',
    ),
    ({"kind": "json", "file": "lost.json", "equals": 1}, "The export has no file lost.json."),
    ({"kind": "json", "file": "notes.txt", "equals": 1}, "notes.txt: It is not JSON"),
    ({"kind": "file", "name": "notes.txt", "sha256": "0" * 64}, "notes.txt has another content."),
    ({"kind": "file", "name": "notes.txt", "lines": ["first line"]}, "$: a list of 2 elements"),
    ({"kind": "file", "name": "notes.txt", "matches": "first"}, "notes.txt does not match the pattern."),
    (
        {"kind": "request", "path": "/orders/17/refund", "form": {"reason": "late"}},
        'The field reason is "damaged", not "late".',
    ),
    (
        {"kind": "request", "path": "/orders/17/refund", "form": {"reason": "damaged"}, "exact": True},
        "full should not be there.",
    ),
    ({"kind": "request", "path": "/orders/17/refund", "method": "GET"}, "0 requests fit."),
    ({"kind": "request", "path": "/orders/17/refund", "status": 200}, "answered with the status 302."),
    ({"kind": "request", "path": "/orders", "count": 0}, "1 requests fit."),
    ({"kind": "url", "path": "/orders/18"}, 'The last page is "/orders/17", not /orders/18.'),
    ({"kind": "url", "path": "/orders/17", "query": {"tab": "notes"}}, 'The parameter tab is "refunds", not "notes".'),
    ({"kind": "page", "contains": "Order 18"}, '"Order 18" is not on the last page.'),
    ({"kind": "steps", "max": 3}, "4 steps were taken."),
    ({"kind": "steps", "never": ["goto"]}, "The action goto was used."),
]


@pytest.mark.parametrize("keys", PASSED, ids=json.dumps)
def test_a_check_passes(keys: dict[str, Any], left: Evidence) -> None:
    assert check(keys).judge(left) == Judged(True, "", *_shown(check(keys).judge(left)))


@pytest.mark.parametrize(("keys", "sentence"), FAILED, ids=lambda each: str(each)[:60])
def test_a_check_fails_and_says_why(keys: dict[str, Any], sentence: str, left: Evidence) -> None:
    judged = check(keys).judge(left)
    assert not judged.passed
    assert sentence in judged.sentence


def _shown(judged: Judged) -> tuple[str, str, str]:
    return judged.expected, judged.actual, judged.normalised


def test_all_kinds_are_tried_above() -> None:
    assert {each["kind"] for each in PASSED} == {each["kind"] for each, _ in FAILED} == CHECKS.keys()


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "missing_key", "$"),
    ({"kind": "answr", "equals": 1}, "bad_value", "$.kind"),
    ({"kind": "answer"}, "bad_check", "$"),
    ({"kind": "answer", "equals": 1, "set": []}, "bad_check", "$"),
    ({"kind": "answer", "equals": 1, "path": "a"}, "bad_path", "$.path"),
    ({"kind": "answer", "matches": "("}, "bad_pattern", "$.matches"),
    ({"kind": "answer", "equals": 1, "tolerance": 1}, "bad_check", "$.tolerance"),
    ({"kind": "answer", "equals": "x", "as": "number"}, "bad_value", "$.equals"),
    ({"kind": "answer", "equals": 1, "as": "money"}, "bad_value", "$.as"),
    ({"kind": "answer", "number": True}, "bad_check", "$.number"),
    ({"kind": "answer", "number": 1, "as": "date"}, "bad_check", "$.number"),
    ({"kind": "answer", "schema": {"type": "text"}}, "bad_schema", "$.schema.type"),
    ({"kind": "answer", "set": 5}, "bad_value", "$.set"),
    ({"kind": "answer", "equals": 1, "weight": -1}, "bad_value", "$.weight"),
    ({"kind": "answer", "equals": 1, "required": "yes"}, "bad_value", "$.required"),
    ({"kind": "answer", "equals": 1, "wieght": 1}, "unknown_key", "$.wieght"),
    ({"kind": "sql", "query": "DELETE FROM x", "empty": True}, "bad_query", "$.query"),
    ({"kind": "sql", "query": "SELECT 1"}, "bad_check", "$"),
    ({"kind": "sql", "query": "SELECT 1", "rows": [1]}, "bad_value", "$.rows"),
    ({"kind": "sql", "query": "SELECT 1", "rows": [[{}]]}, "bad_value", "$.rows"),
    ({"kind": "sql", "query": "SELECT 1", "value": []}, "bad_value", "$.value"),
    ({"kind": "sql", "query": "SELECT 1", "count": {"most": 1}}, "bad_value", "$.count"),
    ({"kind": "sql", "query": "SELECT 1", "empty": False}, "bad_value", "$.empty"),
    ({"kind": "sql", "empty": True}, "missing_key", "$"),
    ({"kind": "json", "equals": 1}, "missing_key", "$"),
    ({"kind": "file", "name": "a", "sha256": "abc"}, "bad_value", "$.sha256"),
    ({"kind": "file", "name": "a", "lines": [1]}, "bad_value", "$.lines"),
    ({"kind": "request", "path": "orders"}, "bad_value", "$.path"),
    ({"kind": "request", "path": "/", "method": "FETCH"}, "bad_value", "$.method"),
    ({"kind": "request", "path": "/", "status": "200"}, "bad_value", "$.status"),
    ({"kind": "request", "path": "/", "count": {"min": 2, "max": 1}}, "bad_value", "$.count"),
    ({"kind": "url"}, "missing_key", "$"),
    ({"kind": "page"}, "bad_check", "$"),
    ({"kind": "steps"}, "bad_check", "$"),
    ({"kind": "steps", "never": ["fly"]}, "bad_value", "$.never"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "code", "path"), WRONG, ids=lambda each: str(each)[:60])
def test_wrong_keys_are_named(keys: dict[str, Any], code: str, path: str) -> None:
    flaws: list[Flaw] = []
    check_read(keys, "$", flaws)
    assert [(flaw.code, flaw.path) for flaw in flaws] == [(code, path)]
    assert flaws[0].message.endswith((".", "?"))


def test_a_misspelt_key_is_guessed() -> None:
    flaws: list[Flaw] = []
    check_read({"kind": "answer", "equals": 1, "wieght": 1}, "$", flaws)
    assert flaws[0].message == "This key is not known here. Did you mean weight?"


@pytest.mark.parametrize("kind", sorted(CHECKS))
def test_evidence_that_was_not_kept_is_no_failed_check(kind: str) -> None:
    keys = next(each for each in PASSED if each["kind"] == kind)
    if kind == "answer":
        assert not check(keys).judge(Evidence()).passed
        return
    with pytest.raises(EvidenceMissing):
        check(keys).judge(Evidence(answer=NOTHING))


REFUND_ALLOWED = {"refund": {"added": 1}, "customer": ["balance"], "audit": "*"}


@pytest.mark.parametrize(
    ("exceptions", "breach"),
    [
        (REFUND_ALLOWED, ""),
        ({**REFUND_ALLOWED, "customer": {"keys": [2]}}, ""),
        ({**REFUND_ALLOWED, "customer": {"keys": [[2]], "columns": ["balance"]}}, ""),
        ({**REFUND_ALLOWED, "customer": "*"}, ""),
        ({**REFUND_ALLOWED, "customer": {"keys": [1]}}, "customer (id 2): balance was 58.5 and is 100.0."),
        ({**REFUND_ALLOWED, "customer": {"keys": []}}, "customer (id 2)"),
        ({**REFUND_ALLOWED, "customer": ["name"]}, "customer (id 2)"),
        ({**REFUND_ALLOWED, "refund": ["status"]}, "refund (order_id 17) was added."),
        ({**REFUND_ALLOWED, "refund": {"removed": 1}}, "refund (order_id 17) was added."),
        ({"customer": "*", "refund": "*"}, "audit (id 2) was added."),
        ({}, "audit (id 2) was added."),
    ],
)
def test_what_may_change_is_said_by_table_column_and_key(exceptions: Any, breach: str, left: Evidence) -> None:
    judged = guard({"kind": "unchanged", "except": exceptions}).judge(left)
    assert judged.passed is (not breach)
    assert breach in judged.sentence


@pytest.mark.parametrize(
    "changes",
    [
        {
            "customer": CUSTOMER.replace("Ada,10.0", "Ada,11.0"),
            "refund": REFUND + "17,done,damaged,41.5\n18,done,x,1\n",
        },
        {"refund": "order_id:integer:key,status,reason,amount:real\n"},
        {"refund": None},
        {"customer": None},
        {"extra": "a\n1\n"},
        {"notes": b"changed"},
        {"notes": None},
        {"customer": CUSTOMER.replace("3,,0\n", "")},
        {"customer": CUSTOMER.replace("name", "title")},
    ],
)
def test_a_world_that_was_changed_elsewhere_breaks_the_guard(changes: dict[str, Any]) -> None:
    allowed = guard({"kind": "unchanged", "except": REFUND_ALLOWED})
    with shop() as before, shop(**changes) as after:
        assert not allowed.judge(Evidence(before=before, after=after)).passed
        assert allowed.judge(Evidence(before=before, after=before)).passed


def test_named_tables_and_files_alone_are_looked_at(left: Evidence) -> None:
    assert guard({"kind": "unchanged", "files": ["notes.txt"]}).judge(left).passed
    assert guard({"kind": "unchanged", "tables": ["lost"]}).judge(left).passed
    assert not guard({"kind": "unchanged", "tables": ["refund"]}).judge(left).passed
    with shop() as before, shop(audit=AUDIT.replace("09:00", "10:00")) as after:
        assert guard({"kind": "unchanged"}).judge(Evidence(before=before, after=after)).passed


@pytest.mark.parametrize(
    ("keys", "holds"),
    [
        ({"kind": "no_errors"}, False),
        ({"kind": "no_errors", "except": ["/slow"]}, True),
        ({"kind": "stays_on"}, True),
        ({"kind": "stays_on", "origins": ["http://other:8000"]}, False),
        ({"kind": "stays_on", "origins": ["http://SHOP:8000/"]}, True),
    ],
)
def test_guards_of_the_network(keys: dict[str, Any], holds: bool, left: Evidence) -> None:
    assert guard(keys).judge(left).passed is holds


@pytest.mark.parametrize("keys", [{"kind": kind} for kind in GUARDS])
def test_guards_without_evidence_are_the_platforms_fault(keys: dict[str, Any]) -> None:
    with pytest.raises(EvidenceMissing):
        guard(keys).judge(Evidence())


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"kind": "unchanged", "except": {"a": 5}}, "$.except.a"),
        ({"kind": "unchanged", "except": {"a": {"rows": 1}}}, "$.except.a.rows"),
        ({"kind": "unchanged", "except": {"a": {"keys": 1}}}, "$.except.a.keys"),
        ({"kind": "unchanged", "except": []}, "$.except"),
        ({"kind": "stays_on", "origins": ["shop"]}, "$.origins"),
        ({"kind": "no_errors", "weight": 1}, "$.weight"),
    ],
)
def test_wrong_keys_of_guards_are_named(keys: dict[str, Any], path: str) -> None:
    flaws: list[Flaw] = []
    guard_read(keys, "$", flaws)
    assert [flaw.path for flaw in flaws] == [path]
