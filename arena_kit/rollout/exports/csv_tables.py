"""Tables of an export as CSV (RFC 4180), with types and the key in the first line.

A cell of the first line is `name`, `name:type` or `name:type:key`; the types are text (the default), integer, real and
boolean. An empty cell without quotes is NULL and `""` is an empty text, as PostgreSQL writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arena_kit.rollout.exports.sql import Cell, Row

_CELL = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\Z)')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")
_WHOLE = re.compile(r"-?[0-9]{1,19}\Z")
KEY = "key"


class NotATable(ValueError):
    """A file of CSV that is not a table. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str = "text"
    is_key: bool = False


def csv_table(text: str) -> tuple[tuple[Column, ...], Iterator[Row]]:
    """Return the columns and an iterator over the rows, which raises NotATable where a row does not fit."""
    lines = _lines(text)
    try:
        header = next(lines)
    except StopIteration:
        raise NotATable("The file is empty; its first line names the columns.") from None
    columns = tuple(_column(cell or "") for cell in header)
    names = [column.name.casefold() for column in columns]
    if len(set(names)) < len(names):
        raise NotATable("Two columns have the same name.")
    return columns, _rows(columns, lines)


def _rows(columns: tuple[Column, ...], lines: Iterator[list[str | None]]) -> Iterator[Row]:
    readers = [TYPES[column.type] for column in columns]
    for number, line in enumerate(lines, 2):
        if len(line) != len(columns):
            raise NotATable(f"Row {number} has {len(line)} cells; the first line names {len(columns)} columns.")
        try:
            cells = zip(readers, line, strict=True)
            yield tuple(None if cell is None else read(cell) for read, cell in cells)
        except ValueError as error:
            raise NotATable(f"Row {number} has a cell that is not of its column's type: {error}.") from None


def _lines(text: str) -> Iterator[list[str | None]]:
    position, line = 0, list[str | None]()
    while position < len(text) or line:
        match = _CELL.match(text, position)
        if match is None:
            raise NotATable(f"A quote at character {position + 1:,} is not closed, or stands within a cell.")
        line.append(match[1].replace('""', '"') if match[1] is not None else match[2] or None)
        position = match.end()
        if match[3] != ",":
            yield line
            line = []


def _column(cell: str) -> Column:
    name, _, rest = cell.partition(":")
    kind, _, mark = rest.partition(":")
    if not _NAME.match(name):
        raise NotATable(f"{name[:50]!r} is not the name of a column: use letters, digits and underscores.")
    if (kind or "text") not in TYPES or mark not in ("", KEY):
        raise NotATable(f"{cell[:80]!r} is not understood; write name, name:type or name:type:key.")
    return Column(name, kind or "text", mark == KEY)


def _integer(text: str) -> int:
    if not _WHOLE.match(text) or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"{text[:40]!r} is not a whole number of 64 bits")
    return int(text)


def _boolean(text: str) -> int:
    if text not in ("t", "f", "true", "false", "1", "0"):
        raise ValueError(f"{text[:40]!r} is neither true nor false")
    return int(text in ("t", "true", "1"))


TYPES: dict[str, Callable[[str], Cell]] = {"text": str, "integer": _integer, "real": float, "boolean": _boolean}
