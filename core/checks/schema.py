"""Whether the database has the tables and columns that this version of the arena works with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import Error as DatabaseFailed

HINT = (
    "Run `manage.py migrate` with the version of the arena that you start. If it says that there is nothing to do, the "
    "database was made by an unreleased version: see docs/operator/upgrade.md."
)
MOST_NAMED = 5
COLUMNS = {
    "postgresql": (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    ),
    "sqlite": "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'",
}
"""All columns at once: asking for each table by itself takes a second."""


@register(Tags.database)
def check_schema(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """arena.E030: tables or columns are missing although all migrations are applied."""
    found = [migrated_problem(connections[alias]) for alias in databases or ()]
    return [Error(problem, hint=HINT, id="arena.E030") for problem in found if problem]


def refuse_unfit_schema() -> None:
    """Raise ImproperlyConfigured if tables or columns are missing; a database that does not answer is asked later."""
    try:
        problem = schema_problem(connections[DEFAULT_DB_ALIAS])
    except DatabaseFailed:
        return
    finally:
        # The process may fork, and its children must not share a connection.
        connections[DEFAULT_DB_ALIAS].close()
    if problem:
        raise ImproperlyConfigured(f"{problem} {HINT}")


def migrated_problem(connection: BaseDatabaseWrapper) -> str:
    """Return what is missing although all migrations are applied, as a sentence; empty while some are not."""
    executor = MigrationExecutor(connection)
    is_migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return schema_problem(connection) if is_migrated else ""


def schema_problem(connection: BaseDatabaseWrapper) -> str:
    """Return what is missing as a sentence, empty if nothing is."""
    missing = schema_missing(connection)
    if not missing:
        return ""
    named = ", ".join(missing[:MOST_NAMED])
    rest = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    return f"The database lacks {named}{rest}."


def schema_missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of missing tables, and of missing columns as TABLE.COLUMN."""
    models = [row for row in apps.get_models(include_auto_created=True) if row._meta.managed and not row._meta.proxy]
    wanted = {row._meta.db_table: [field.column for field in row._meta.local_concrete_fields] for row in models}
    there: dict[str, set[str]] = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS[connection.vendor])
        for table, column in cursor.fetchall():
            there[table].add(column)
    return sorted(
        name
        for table, columns in wanted.items()
        for name in (
            [table] if table not in there else [f"{table}.{one}" for one in columns if one not in there[table]]
        )
    )
