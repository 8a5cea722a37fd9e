"""Checks of the exported state: questions to its tables, and its files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from arena_kit.rollout.checks.base import Condition, Judged, exactly_one, taken
from arena_kit.rollout.checks.evidence import Evidence, readable
from arena_kit.rollout.checks.matching import MOST_MATCHED, pattern_read
from arena_kit.rollout.exports.sql import MOST_CHARACTERS, MOST_ROWS, QueryFailed, Row
from arena_kit.rollout.values.equality import difference_in_any_order, first_difference
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.patterns import whole_matches

SQL_WAYS = ("rows", "row_set", "value", "empty", "not_empty", "count")
FILE_WAYS = ("sha256", "matches", "lines")
_BEGINS = re.compile(r"\s*(SELECT|WITH|VALUES)\b", re.IGNORECASE)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True)
class SqlCheck(Condition):
    """A check of the answer to a question to the export's tables."""

    KIND: ClassVar[str] = "sql"
    NEEDS: ClassVar[str] = "the exported state"
    query: str
    way: str
    expected: Any

    @classmethod
    def read(cls, fields: Fields) -> SqlCheck | None:
        """See Condition."""
        query = fields.text("query", most=MOST_CHARACTERS, is_needed=True)
        if query and not _BEGINS.match(query):
            fields.flaw("bad_query", "query", "A query must begin with SELECT, WITH or VALUES.")
        way = exactly_one(fields, SQL_WAYS)
        expected = None if way is None else _sql_expected(fields, way)
        return None if way is None or (expected is None and way != "value") else cls(query, way, expected)

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        try:
            rows = evidence.state().query(self.query)
        except QueryFailed as error:
            return Judged(False, str(error), self._wanted(), "nothing")
        sentence = self._difference(rows)
        return Judged(not sentence, sentence, self._wanted(), _shown_rows(rows))

    def _wanted(self) -> str:
        if self.way == "count":
            return f"{_range(self.expected)} rows"
        words = {"empty": "no rows", "not_empty": "at least one row", "row_set": "in any order "}
        return words.get(self.way, "") + ("" if self.way in ("empty", "not_empty") else readable(self.expected))

    def _difference(self, rows: list[Row]) -> str:
        if self.way in ("empty", "not_empty"):
            return "" if (not rows) == (self.way == "empty") else f"The query returns {_counted(rows)}."
        if self.way == "count":
            least, most = self.expected
            return "" if least <= len(rows) <= most else f"The query returns {_counted(rows)}."
        if self.way == "value" and (len(rows) != 1 or len(rows[0]) != 1):
            return f"The query returns {_counted(rows)}, not with one row of one column."
        actual: Any = rows[0][0] if self.way == "value" else rows
        compare = difference_in_any_order if self.way == "row_set" else first_difference
        found = compare(self.expected, actual)
        return "" if found is None else f"{found.sentence}."


@dataclass(frozen=True)
class FileCheck(Condition):
    """A file of the export."""

    KIND: ClassVar[str] = "file"
    NEEDS: ClassVar[str] = "the exported state"
    name: str
    way: str
    expected: Any

    @classmethod
    def read(cls, fields: Fields) -> FileCheck | None:
        """See Condition."""
        name, way = fields.text("name", is_needed=True), exactly_one(fields, FILE_WAYS)
        expected = None if way is None else _file_expected(fields, way)
        return cls(name, way, expected) if way and expected is not None else None

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        content = evidence.state().files.get(self.name)
        wanted = readable(self.expected)
        if content is None:
            return Judged(False, f"The export has no file {self.name}.", wanted, "nothing")
        if self.way == "sha256":
            digest = hashlib.sha256(content).hexdigest()
            good = digest == self.expected
            return Judged(good, "" if good else f"{self.name} has another content.", wanted, digest)
        try:
            text = content.decode("utf-8-sig") if len(content) <= MOST_MATCHED else ""
        except UnicodeDecodeError:
            return Judged(False, f"{self.name} is not UTF-8 text.", wanted, f"{len(content)} bytes")
        if len(content) > MOST_MATCHED:
            return Judged(False, f"{self.name} is larger than {MOST_MATCHED:,} bytes.", wanted, f"{len(content)} bytes")
        if self.way == "matches":
            good = whole_matches(self.expected, text.strip())
            return Judged(good, "" if good else f"{self.name} does not match the pattern.", wanted, readable(text))
        found = first_difference(list(self.expected), text.splitlines())
        return Judged(found is None, "" if found is None else f"{self.name}: {found.sentence}.", wanted, readable(text))


def range_read(fields: Fields, name: str, value: Any, most: int) -> tuple[int, int] | None:
    """Return the range of a whole number or of `{"min": 1, "max": 3}`, or None with a flaw."""
    least, largest = (value.get("min", 0), value.get("max", most)) if isinstance(value, dict) else (value, value)
    known = not isinstance(value, dict) or set(value) <= {"min", "max"}
    whole = all(isinstance(each, int) and not isinstance(each, bool) for each in (least, largest))
    if known and whole and 0 <= least <= largest <= most:
        return least, largest
    fields.flaw("bad_value", name, f'It must be a whole number, or {{"min": 1, "max": 3}}, from 0 to {most:,}.')
    return None


def _sql_expected(fields: Fields, way: str) -> Any:
    if way in ("empty", "not_empty"):
        value = fields.take(way)
        if value is True:
            return True
        fields.flaw("bad_value", way, "Its value is true; leave it out otherwise.")
        return None
    if way == "count":
        return range_read(fields, way, fields.take(way), MOST_ROWS)
    if way == "value":
        value = _cell(fields.take(way))
        if isinstance(value, list | dict):
            fields.flaw("bad_value", way, "It must be a number, a text, true, false or null.")
        return value
    rows = taken(fields, way, list, "a list of rows, and each row a list of values")
    if rows is None:
        return None
    if not all(isinstance(row, list) and not any(isinstance(cell, list | dict) for cell in row) for row in rows):
        fields.flaw("bad_value", way, "It must be a list of rows, and each row a list of values.")
        return None
    return [[_cell(cell) for cell in row] for row in rows]


def _cell(value: Any) -> Any:
    """Return a value as SQLite has it, which has no booleans."""
    return int(value) if isinstance(value, bool) else value


def _file_expected(fields: Fields, way: str) -> Any:
    if way == "matches":
        return pattern_read(fields, way)
    if way == "lines":
        lines = taken(fields, way, list, "a list of texts")
        if lines is None or all(isinstance(line, str) for line in lines):
            return lines
        fields.flaw("bad_value", way, "It must be a list of texts.")
        return None
    digest = fields.text(way).lower()
    if _DIGEST.match(digest):
        return digest
    fields.flaw("bad_value", way, "It must be a SHA-256 in 64 hexadecimal digits.")
    return None


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]:,} to {bounds[1]:,}"


def _counted(rows: Sequence[Row]) -> str:
    return "no rows" if not rows else "1 row" if len(rows) == 1 else f"{len(rows):,} rows"


def _shown_rows(rows: Sequence[Row]) -> str:
    few = [[f"{len(cell)} bytes" if isinstance(cell, bytes) else cell for cell in row] for row in rows[:10]]
    return readable(few)
