"""Guards: what must not have happened. They give no points, and all of them must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from arena_kit.rollout.checks.base import Condition, Judged
from arena_kit.rollout.checks.evidence import Evidence
from arena_kit.rollout.exports.diff import ADDED, CHANGED, REMOVED, Change, file_changes, table_changes
from arena_kit.rollout.exports.requests import address_of, path_fits
from arena_kit.rollout.exports.state import ExportedState
from arena_kit.rollout.values.equality import are_equal, shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import Flaw

EVERYTHING = "*"
MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """The changes that a table may have. columns: of rows that stay; `*` is any. keys: of which rows; None is any.

    added, removed: how many rows may be.
    """

    columns: frozenset[str] = frozenset()
    keys: tuple[Any, ...] | None = None
    added: int = 0
    removed: int = 0

    def allows(self, change: Change, counts: Counter[str]) -> bool:
        """Return whether a change of the table may be. counts: the rows added and removed so far, which it counts
        on."""
        if not change.key:
            return False  # The table itself was added, removed, or has other columns.
        if change.kind != CHANGED:
            counts[change.kind] += 1
            return counts[change.kind] <= (self.added if change.kind == ADDED else self.removed)
        if self.keys is not None and not any(_is_key(key, change) for key in self.keys):
            return False
        return bool(change.columns) and (EVERYTHING in self.columns or self.columns >= set(change.columns))


@dataclass(frozen=True)
class Unchanged(Condition):
    """Tables and files must be as in a fresh world, with exceptions. None stands for all of them."""

    KIND: ClassVar[str] = "unchanged"
    NEEDS: ClassVar[str] = "the exported state"
    tables: tuple[str, ...] | None
    files: tuple[str, ...] | None
    exceptions: Mapping[str, Allowance | None]

    @classmethod
    def read(cls, fields: Fields) -> Unchanged | None:
        """See Condition."""
        named = "tables" in fields or "files" in fields
        tables, files = fields.texts("tables", most=1_000), fields.texts("files", most=1_000)
        exceptions = {name: _allowance(fields, name, value) for name, value in (fields.object("except") or {}).items()}
        return cls(tables, files, exceptions) if named else cls(None, None, exceptions)

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        before, after = evidence.states()
        found = next(self.breaches(before, after), None)
        wanted = "as in a fresh world"
        return (
            Judged(True, "", wanted, wanted) if found is None else Judged(False, found.sentence, wanted, found.sentence)
        )

    def breaches(self, before: ExportedState, after: ExportedState) -> Iterator[Change]:
        """Yield the changes that are not allowed."""
        for name in sorted(before.tables.keys() | after.tables.keys()) if self.tables is None else self.tables:
            exception = self.exceptions.get(name, Allowance())
            if exception is None or (name not in before.tables and name not in after.tables):
                continue
            counts: Counter[str] = Counter()
            yield from (each for each in table_changes(before, after, name) if not exception.allows(each, counts))
        for change in file_changes(before, after):
            if (self.files is None or change.where in self.files) and change.where not in self.exceptions:
                yield change


@dataclass(frozen=True)
class NoErrors(Condition):
    """No service answers with a status of 500 or above, but for the paths of a list."""

    KIND: ClassVar[str] = "no_errors"
    NEEDS: ClassVar[str] = "the network log"
    exceptions: tuple[str, ...]

    @classmethod
    def read(cls, fields: Fields) -> NoErrors | None:
        """See Condition."""
        return cls(fields.texts("except"))

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        for request in evidence.network():
            path = request.address.path
            if request.status >= 500 and not any(path_fits(each, path) for each in self.exceptions):
                sentence = f"{request.method[:20]} {shown(path)} was answered with the status {request.status}."
                return Judged(False, sentence, "no status from 500 on", str(request.status))
        return Judged(True, "", "no status from 500 on", "none")


@dataclass(frozen=True)
class StaysOn(Condition):
    """Every request goes to one of these origins; without a list, to those of the package."""

    KIND: ClassVar[str] = "stays_on"
    NEEDS: ClassVar[str] = "the network log"
    origins: tuple[str, ...]

    @classmethod
    def read(cls, fields: Fields) -> StaysOn | None:
        """See Condition."""
        origins = fields.texts("origins")
        for origin in origins:
            if not origin.startswith(("http://", "https://")) or address_of(origin).path != "/":
                fields.flaw("bad_value", "origins", f"{shown(origin)} is not an origin such as http://shop:8000.")
        return cls(origins)

    def judge(self, evidence: Evidence) -> Judged:
        """See Condition."""
        good = {address_of(each).origin for each in self.origins or evidence.origins}
        for request in evidence.network():
            if request.address.origin not in good and request.address.origin:
                sentence = f"A request went to {shown(request.address.origin)}."
                return Judged(False, sentence, _listed(good), request.address.origin[:200])
        return Judged(True, "", _listed(good), "no other origin")


def _allowance(fields: Fields, name: str, value: Any) -> Allowance | None:
    """Return what may change in a table; None is everything."""
    if value == EVERYTHING:
        return None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return Allowance(frozenset(value))
    if isinstance(value, dict):
        inner = Fields(value, f"{fields.path}.except.{name}", fields.flaws)
        columns, keys = frozenset(inner.texts("columns", most=200)), inner.take("keys")
        added, removed = (inner.whole(each, default=0, least=0, most=MOST_ROWS) for each in (ADDED, REMOVED))
        if keys is not NOTHING and not isinstance(keys, list):
            inner.flaw("bad_value", "keys", "It must be a list of keys; a key of several columns is a list itself.")
        inner.finish()
        rows = tuple(keys) if isinstance(keys, list) else None
        return Allowance(columns or frozenset([EVERYTHING] if rows else []), rows, added, removed)
    message = 'It must be "*", a list of columns, or an object with columns, keys, added and removed.'
    fields.flaws.append(Flaw("bad_value", f"{fields.path}.except.{name}", message))
    return Allowance()


def _is_key(key: Any, change: Change) -> bool:
    cells = [cell for _, cell in change.key]
    return are_equal(key if isinstance(key, list) else [key], cells)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))[:200]
