"""An index that is made beside a site at work, after a try that a long reader stopped."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from core.operations import migrating

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def newest_again() -> Iterator[None]:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite knows no locks of tables")
    yield
    call_command("migrate", "core", "0007", verbosity=0)
    call_command("migrate", fake=True, verbosity=0)


def test_an_index_that_a_long_reader_stopped_is_made_by_the_next_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(migrating, "TRIES", 2)
    # Undoing all migrations since, and applying them again, would take most of this test's time.
    call_command("migrate", "core", "0006", fake=True, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX duel_recorded")
    reader = connection.copy()
    reader.set_autocommit(False)
    try:
        with reader.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SELECT count(*) FROM core_duel")
        with pytest.raises(CommandError, match="A table is in use by process"):
            call_command("migrate", "core", "0007", verbosity=0, stderr=io.StringIO())
    finally:
        reader.close()
    call_command("migrate", "core", "0007", verbosity=0, stderr=io.StringIO())
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'duel_recorded'::regclass")
        assert cursor.fetchall() == [(True,)]
