"""The changes between the state of a fresh world and the state after a rollout: rows, cells and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from arena_kit.rollout.exports.sql import Cell, Row
from arena_kit.rollout.exports.state import ExportedState
from arena_kit.rollout.values.equality import shown

MOST_CHANGES = 1_000
"""Changes that are kept by table; the others are only counted."""
MOST_SHOWN, MOST_CELL = 2_000, 300
"""Changes that are written down for people, and characters of a cell."""
ADDED, REMOVED, CHANGED = "added", "removed", "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """A row or a file that is not as it was. where: table or file. key: the row's key by column, or all of its cells.

    before, after: the cells that differ, by column; empty for a file.
    """

    kind: str
    where: str
    key: tuple[tuple[str, Cell], ...] = ()
    before: tuple[tuple[str, Cell], ...] = ()
    after: tuple[tuple[str, Cell], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose cells differ in a changed row."""
        return tuple(name for name, _ in self.after)

    @property
    def sentence(self) -> str:
        """Return the change as a sentence, e.g. `customer (id 3): balance was 10 and is 58.5.`"""
        row = ", ".join(f"{name} {_readable(cell)}" for name, cell in self.key[:4])
        where = f"{self.where} ({row})" if row else self.where
        if self.kind != CHANGED or not self.after:
            return f"{where} was {self.kind}."
        old = dict(self.before)
        cells = [f"{name} was {_readable(old[name])} and is {_readable(cell)}" for name, cell in self.after[:4]]
        return f"{where}: {'; '.join(cells)}."

    def as_json(self) -> dict[str, Any]:
        """Return the change for people: cells as texts, which are cut."""
        old = dict(self.before)
        return {
            "kind": self.kind,
            "where": self.where,
            "key": [[name, _cut(cell)] for name, cell in self.key],
            "cells": [[name, _cut(old[name]), _cut(cell)] for name, cell in self.after],
        }


@dataclass(slots=True)
class Diff:
    """The changes of a rollout. counts: all changes by table or file, those that are not kept included."""

    changes: list[Change] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return counts and changes for people, as many of these as `MOST_SHOWN`."""
        return {"counts": self.counts, "changes": [change.as_json() for change in self.changes[:MOST_SHOWN]]}


def state_diff(before: ExportedState, after: ExportedState) -> Diff:
    """Return what has changed; tables first, then files, each by name. Volatile columns and files are left out."""
    diff = Diff()
    for name in sorted(before.tables.keys() | after.tables.keys()):
        kept = 0
        for change in table_changes(before, after, name):
            diff.counts[name] = diff.counts.get(name, 0) + 1
            if kept < MOST_CHANGES:
                kept += 1
                diff.changes.append(change)
    for change in file_changes(before, after):
        diff.counts[change.where] = diff.counts.get(change.where, 0) + 1
        diff.changes.append(change)
    return diff


def file_changes(before: ExportedState, after: ExportedState) -> Iterator[Change]:
    """Yield the files that were added, removed or changed, by name."""
    for name in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(name), after.files.get(name)
        if old != new and "*" not in before.volatile.get(name, ()):
            yield Change(ADDED if old is None else REMOVED if new is None else CHANGED, name)


def table_changes(before: ExportedState, after: ExportedState, name: str) -> Iterator[Change]:
    """Yield the changes of one table, in the order of its key."""
    if name not in before.tables or name not in after.tables:
        yield Change(ADDED if name in after.tables else REMOVED, name)
        return
    old, new = before.tables[name], after.tables[name]
    if old.steady != new.steady or old.key != new.key:
        yield Change(CHANGED, name)
        return
    columns = old.steady
    places = [columns.index(column) for column in old.key if column in columns] or list(range(len(columns)))
    yield from _merged(name, columns, places, before.rows(name), after.rows(name))


def _merged(
    name: str, columns: tuple[str, ...], places: list[int], before: Iterator[Row], after: Iterator[Row]
) -> Iterator[Change]:
    """Compare two ordered streams of rows, so that only two rows are in memory at a time."""

    def key_of(row: Row) -> tuple[tuple[str, Cell], ...]:
        return tuple((columns[place], row[place]) for place in places)

    old, new = next(before, None), next(after, None)
    while old is not None or new is not None:
        order = _order(old, new, places)
        if order < 0 and old is not None:
            yield Change(REMOVED, name, key_of(old))
            old = next(before, None)
        elif order > 0 and new is not None:
            yield Change(ADDED, name, key_of(new))
            new = next(after, None)
        elif old is not None and new is not None:
            cells = list(zip(columns, old, new, strict=True))
            differ = [(column, one, other) for column, one, other in cells if _rank(one) != _rank(other)]
            if differ:
                was = tuple((column, one) for column, one, _ in differ)
                yield Change(CHANGED, name, key_of(new), was, tuple((column, other) for column, _, other in differ))
            old, new = next(before, None), next(after, None)


def _order(old: Row | None, new: Row | None, places: list[int]) -> int:
    """Return -1, 0 or 1 as the old row comes before the new one, is the same, or comes after it."""
    if old is None or new is None:
        return 1 if old is None else -1
    one, other = ([_rank(row[place]) for place in places] for row in (old, new))
    return (one > other) - (one < other)


def _rank(cell: Cell) -> tuple[int, Any]:
    """Return what cells are ordered by, as SQLite orders them: NULL, numbers, texts by their bytes, bytes."""
    if cell is None:
        return 0, 0
    if isinstance(cell, int | float):
        return 1, cell
    return (2, cell.encode("utf-8", "surrogatepass")) if isinstance(cell, str) else (3, cell)


def _cut(cell: Cell) -> str:
    text = _readable(cell)
    return text if len(text) <= MOST_CELL else f"{text[:MOST_CELL]}…"


def _readable(cell: Cell) -> str:
    return f"{len(cell)} bytes" if isinstance(cell, bytes) else shown(cell)
