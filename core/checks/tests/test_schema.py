"""A database that lacks a table or a column is noticed before anything works on it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection

from core.checks.schema import refuse_unfit_schema, schema_missing, schema_problem

pytestmark = pytest.mark.django_db


def test_the_migrated_schema_fits() -> None:
    assert schema_missing(connection) == []
    call_command("check", tags=["database"], databases=["default"], stdout=StringIO())


def test_a_missing_table_and_a_missing_column_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE core_formername")
        cursor.execute("ALTER TABLE core_agent DROP COLUMN description")
    assert schema_missing(connection) == ["core_agent.description", "core_formername"]
    sentence = "The database lacks core_agent.description, core_formername."
    assert schema_problem(connection) == sentence
    with pytest.raises(SystemCheckError, match="arena.E030"):
        call_command("check", tags=["database"], databases=["default"])
    starts = (refuse_unfit_schema, lambda: call_command("run_workers", "build"), lambda: call_command("autoscale"))
    for start in starts:
        with pytest.raises((ImproperlyConfigured, CommandError), match=rf"{sentence} Run `manage.py migrate`"):
            start()


def test_many_missing_names_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.checks.schema.schema_missing", lambda _: [f"t{number}" for number in range(8)])
    assert schema_problem(connection) == "The database lacks t0, t1, t2, t3, t4 and 3 more."


def test_a_database_that_does_not_answer_keeps_no_process_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: object) -> str:
        raise OperationalError("refused")

    monkeypatch.setattr("core.checks.schema.schema_problem", away)
    monkeypatch.setattr(connection, "close", lambda: None)
    refuse_unfit_schema()
