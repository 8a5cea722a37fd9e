"""Tables, questions, states and what has changed between two."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_kit.rollout.exports.csv_tables import NotATable, csv_table
from arena_kit.rollout.exports.diff import state_diff
from arena_kit.rollout.exports.requests import (
    NetworkLogRefused,
    address_of,
    path_fits,
    requests_in,
)
from arena_kit.rollout.exports.sql import MOST_SECONDS, QueryFailed, QueryTooSlow
from arena_kit.rollout.exports.state import ExportedState, ExportRefused
from arena_kit.tests.rollout.worlds import AUDIT, CUSTOMER, REFUND, refunded, shop


def test_a_table_has_types_a_key_and_null() -> None:
    columns, rows = csv_table('id:integer:key,name,paid:boolean,price:real\n1,"a ""b""\nc",t,1.5\n2,,f,\n3,"",1,-2e3\n')
    assert [(each.name, each.type, each.is_key) for each in columns] == [
        ("id", "integer", True), ("name", "text", False), ("paid", "boolean", False), ("price", "real", False),
    ]  # fmt: skip
    assert list(rows) == [(1, 'a "b"\nc', 1, 1.5), (2, None, 0, None), (3, "", 1, -2000.0)]


@pytest.mark.parametrize(
    "text",
    ["", "a,A\n", "a b\n", "a:date\n", "a:text:first\n", "a,b\n1\n", "a:integer\nx\n",
     "a:integer\n99999999999999999999\n",
     'a\n"open', 'a\nx"y\n', "a:boolean\nyes\n", "a:real\n1,5\n"],
)  # fmt: skip
def test_what_is_no_table_is_said_in_a_sentence(text: str) -> None:
    with pytest.raises(NotATable, match=r"[.]$"):
        list(csv_table(text)[1])


@given(st.lists(st.tuples(st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
                          st.integers(-(2**63), 2**63 - 1)), max_size=8))  # fmt: skip
def test_rows_that_are_written_are_read_back(rows: list[tuple[str | None, int]]) -> None:
    lines = ["name,n:integer"]
    for name, number in rows:
        cell = "" if name is None else '"' + name.replace('"', '""') + '"'
        lines.append(f"{cell},{number}")
    assert list(csv_table("\n".join(lines))[1]) == rows


def test_questions_are_answered_from_the_tables() -> None:
    with refunded() as state:
        assert state.query("SELECT status, reason FROM refund WHERE order_id = 17") == [("done", "damaged")]
        assert state.query("SELECT count(*), sum(balance) FROM customer WHERE name IS NOT NULL") == [(2, 110.0)]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM refund", "DROP TABLE refund", "SELECT 1; SELECT 2", "PRAGMA query_only = OFF", "ATTACH 'x' AS y",
        "SELECT load_extension('x')", "SELECT random()", "SELECT date('now')", "SELECT * FROM sqlite_master",
        "SELECT * FROM pragma_table_list", "SELECT sqlite_version()", "SELECT readfile('/etc/passwd')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT hex(zeroblob(100000000))", "SELECT * FROM nothing", "VACUUM INTO 'x'",
        "SELECT " + "replace(" * 8 + "'a'" + ", 'a', 'aaaaaaaaaa')" * 8,
        f"SELECT 1 FROM {', '.join(f'customer c{n}' for n in range(13))}",
        "CREATE TEMP TABLE x (a)", "SELECT printf('%.*c', 100000000, 'x')",
    ],
)  # fmt: skip
def test_questions_that_are_not_allowed_or_cost_too_much_fail(query: str) -> None:
    with shop() as state:
        before = state.digest()
        with pytest.raises(QueryFailed):
            state.query(query)
        assert state.digest() == before


def test_a_machine_that_is_too_slow_is_not_the_questions_fault() -> None:
    seconds: Iterator[float] = iter([0.0, *[MOST_SECONDS + 1.0] * 10_000])
    query = "SELECT count(*) FROM " + ", ".join(f"customer c{n}" for n in range(14))
    with shop() as state, pytest.raises(QueryTooSlow):
        state.query(query, clock=lambda: next(seconds))


def test_the_digest_leaves_out_order_of_rows_and_what_is_volatile() -> None:
    turned = "id:integer:key,name,balance:real\n3,,0\n2,Bob,58.5\n1,Ada,10.0\n"
    with shop() as one, shop(customer=turned, audit=AUDIT.replace("09:00", "23:59")) as other, refunded() as changed:
        assert one.digest() == other.digest()
        assert one.digest() != changed.digest()
        assert state_diff(one, other).changes == []


@pytest.mark.parametrize(
    "changes",
    [
        {"customer": CUSTOMER.replace("Ada", "Eve")},
        {"customer": CUSTOMER.replace(",,", ',"",')},
        {"customer": CUSTOMER + "4,Cem,1\n"},
        {"customer": CUSTOMER.replace("2,Bob,58.5\n", "")},
        {"refund": None},
        {"extra": "a\n1\n"},
        {"notes": b"first line\n"},
        {"notes": None},
        {"customer": CUSTOMER.replace("name", "title")},
    ],
)  # fmt: skip
def test_every_change_is_in_the_digest_and_in_the_diff(changes: dict[str, Any]) -> None:
    with shop() as one, shop(**changes) as other:
        assert one.digest() != other.digest()
        (change,) = state_diff(one, other).changes
        assert change.sentence.endswith(".")
        (back,) = state_diff(other, one).changes
        assert {change.kind, back.kind} in ({"added", "removed"}, {"changed"})


def test_the_diff_names_row_column_and_values() -> None:
    with shop() as one, refunded() as other:
        diff = state_diff(one, other)
        assert [each.sentence for each in diff.changes] == [
            "audit (id 2) was added.",
            "customer (id 2): balance was 58.5 and is 100.0.",
            "refund (order_id 17) was added.",
        ]
        assert diff.counts == {"audit": 1, "customer": 1, "refund": 1}


ROWS = st.dictionaries(st.integers(0, 8), st.sampled_from(["a", "b", "", None]), max_size=6)


@given(ROWS, ROWS)
def test_the_diff_is_that_of_the_rows_by_their_key(one: dict[int, str | None], other: dict[int, str | None]) -> None:
    def table(rows: dict[int, str | None]) -> ExportedState:
        lines = [f"{key},{'' if cell is None else chr(34) + cell + chr(34)}" for key, cell in rows.items()]
        return ExportedState({"t.csv": "\n".join(["id:integer:key,cell", *lines]).encode()})

    with table(one) as before, table(other) as after:
        found = {(change.kind, change.key[0][1]) for change in state_diff(before, after).changes}
    added, removed = other.keys() - one.keys(), one.keys() - other.keys()
    changed = {key for key in one.keys() & other.keys() if one[key] != other[key]}
    assert found == {
        *(("added", n) for n in added),
        *(("removed", n) for n in removed),
        *(("changed", n) for n in changed),
    }


def sqlite_file(folder: Path, *statements: str) -> bytes:
    path = folder / "app.sqlite"
    connection = sqlite3.connect(path)
    for each in statements:
        connection.execute(each)
    connection.commit()
    connection.close()
    return path.read_bytes()


def test_a_sqlite_file_gives_its_ordinary_tables_alone(tmp_path: Path) -> None:
    content = sqlite_file(
        tmp_path,
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO item VALUES (1, 'a')",
        "CREATE VIEW evil AS SELECT load_extension('x')",
        "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM item; END",
    )
    with ExportedState({"app.sqlite": content}) as state:
        assert state.tables.keys() == {"item"}
        assert state.tables["item"].key == ("id",)
        assert state.query("SELECT * FROM item") == [(1, "a")]


@pytest.mark.parametrize(
    "files",
    [
        {"a.csv": b"\xff"}, {"a.csv": b""}, {"a.sqlite": b"SQLite format 3\0" + b"x" * 4_000}, {"a.db": b"no"},
        {"a.csv": b"x\n1\n", "A.CSV": b"x\n1\n"}, {"a.csv": (",".join(f"c{n}" for n in range(300)) + "\n").encode()},
    ],
)  # fmt: skip
def test_an_export_that_cannot_be_read_is_refused(files: dict[str, bytes]) -> None:
    with pytest.raises(ExportRefused) as caught:
        ExportedState(files)
    assert caught.value.code == "bad_export"


def test_addresses_have_an_origin_a_decoded_path_and_parameters() -> None:
    address = address_of("HTTP://Shop:80/a%20b/?x=1&x=2&y=#top")
    assert (address.origin, address.path, address.query) == ("http://shop", "/a b", {"x": ("1", "2"), "y": ("",)})
    assert address_of("http://[").origin == ""


@pytest.mark.parametrize(
    ("template", "path", "fits"),
    [
        ("/orders/{id}", "/orders/17", True),
        ("/orders/{id}/", "/orders/17", True),
        ("/orders/{id}", "/orders", False),
        ("/orders/{id}", "/orders/17/refund", False),
        ("/orders/{id}", "/orders/", False),
        ("/", "/", True),
        ("/{a}/{b}", "/x/y", True),
    ],
)
def test_a_template_stands_for_one_part_of_a_path_each(template: str, path: str, fits: bool) -> None:
    assert path_fits(template, address_of(f"http://shop{path}").path) is fits


@pytest.mark.parametrize(
    "har",
    [b"", b"[]", b'{"log": {}}', b'{"log": {"entries": [5]}}',
     b'{"log": {"entries": [{"request": {}, "response": {}}]}}',
     b'{"log": {"entries": [{"request": {"method": "GET", "url": "/"}, "response": {"status": "x"}}]}}', b"\xff"],
)  # fmt: skip
def test_a_network_log_that_cannot_be_read_is_refused(har: bytes) -> None:
    with pytest.raises(NetworkLogRefused) as caught:
        requests_in(har)
    assert caught.value.code == "bad_network_log"


def test_the_refund_table_is_that_of_the_file() -> None:
    with shop() as state:
        assert list(state.rows("refund")) == [(16, "done", "late", 3.5)]
        assert REFUND.startswith("order_id")
