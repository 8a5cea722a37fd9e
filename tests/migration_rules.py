"""What a migration may do while the release before it still runs: nothing that fails its queries or locks its tables.

docs/contributor/releases.md says how to do what is refused here in two releases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently, ValidateConstraint
from django.db import models
from django.db.migrations import Migration, operations
from django.db.migrations.state import ProjectState

WITHOUT_EFFECT = frozenset(
    {
        "help_text",
        "verbose_name",
        "choices",
        "validators",
        "editable",
        "blank",
        "default",
        "error_messages",
        "db_default",
    }
)
"""Arguments of fields that change no table, or, as a default of the database, only what is written later."""
ALWAYS = (
    operations.CreateModel, operations.AlterModelOptions, operations.AlterModelManagers, AddIndexConcurrently,
    AddConstraintNotValid, ValidateConstraint, operations.RemoveIndex, operations.RemoveConstraint,
)  # fmt: skip
REMOVALS = (operations.RemoveField, operations.DeleteModel)
DATA = (operations.RunPython, operations.RunSQL)


def findings(migration: Migration, before: ProjectState, released: Collection[str]) -> list[str]:
    """Return a sentence for everything that a migration must not do.

    before: the state of the models. released: the versions that are out. A migration that removes something names in
    `unused_since` the release whose code has stopped to use it.
    """
    made: set[str] = set()
    found: list[str] = []
    state = before.clone()
    for operation in migration.operations:
        found += _of(operation, state, made, str(getattr(migration, "unused_since", "")), released)
        if isinstance(operation, operations.CreateModel):
            made.add(operation.name.lower())
        operation.state_forwards(migration.app_label, state)
    if any(isinstance(one, DATA) for one in migration.operations):
        if not all(isinstance(one, DATA) for one in migration.operations):
            found.append("Rows are changed in a migration of their own: tables would be locked for as long.")
        if any(not one.reversible for one in migration.operations):
            found.append("A change of rows has a way back, if only `migrations.RunPython.noop`.")
    return found


def _of(
    operation: Any, state: ProjectState, made: Collection[str], unused_since: str, released: Collection[str]
) -> Iterator[str]:
    model = str(getattr(operation, "model_name", "")).lower()
    if isinstance(operation, (*ALWAYS, *DATA)) or (model and model in made):
        return
    what = operation.describe()
    if isinstance(operation, REMOVALS):
        if unused_since not in released:
            yield f"{what}: the release before still reads it. Stop to use it first; then name that in unused_since."
    elif isinstance(operation, operations.AddField):
        if not (operation.field.null or operation.field.has_db_default() or operation.field.many_to_many):
            yield f"{what}: the release before writes rows without it. Give it db_default, or let it be null."
    elif isinstance(operation, operations.AlterField):
        yield from _tightened(operation, state)
    elif isinstance(operation, operations.AddIndex):
        yield f"{what}: this locks the table. Use AddIndexConcurrently in a migration with atomic = False."
    elif isinstance(operation, operations.AddConstraint):
        yield f"{what}: this reads the table under a lock. Use AddConstraintNotValid, then ValidateConstraint."
    else:
        yield f"{what}: the release before does not know it by that name or kind."


def _tightened(operation: operations.AlterField, state: ProjectState) -> Iterator[str]:
    old = state.models[_key(state, operation.model_name)].fields[operation.name]
    new = operation.field
    before, after = _effective(old), _effective(new)
    if type(old) is not type(new):
        yield f"{operation.describe()}: the table is written anew under a lock. Add a second field and copy its rows."
        return
    if after.get("null") and not before.get("null"):
        before["null"] = True
    if (after.get("max_length") or 0) > (before.get("max_length") or 0) and isinstance(new, models.CharField):
        before["max_length"] = after["max_length"]
    if before != after:
        yield f"{operation.describe()}: the release before writes what this refuses, or the table is written anew."


def _effective(field: Any) -> dict[str, Any]:
    _, _, arguments, named = field.deconstruct()
    return {"": list(arguments), **{name: value for name, value in named.items() if name not in WITHOUT_EFFECT}}


def _key(state: ProjectState, model: str) -> tuple[str, str]:
    return next((app, name) for app, name in state.models if name == model.lower())
