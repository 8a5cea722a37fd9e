"""The role of site and workers in PostgreSQL: it uses the rows, and owns nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.db import InternalError, ProgrammingError, connection, transaction
from pytest_django.fixtures import Settings

from core.append_only import TABLES
from core.models import AuditEntry, User
from core.operations.backup.restore import owns_database
from core.site_role import role_grant
from core.tests import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
ROLE = f"arena_site_{os.getpid()}"


@pytest.fixture
def as_site(settings: Settings) -> Iterator[None]:
    """As the site is connected."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no roles")
    settings.DATABASE_ROLE, settings.DATABASE_ROLE_PASSWORD = ROLE, "a-password-of-a-test"
    # Twice, as two releases.
    role_grant(connection)
    role_grant(connection)
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {ROLE}")
        try:
            yield
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute(f"DROP OWNED BY {ROLE}")
            cursor.execute(f"DROP ROLE {ROLE}")
            cursor.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")


@pytest.mark.parametrize(
    "statement",
    [
        *(f"DELETE FROM {table}" for table in TABLES),
        *(f"UPDATE {table} SET id = id" for table in TABLES),
        "TRUNCATE core_auditentry CASCADE",
        "ALTER TABLE core_auditentry DISABLE TRIGGER ALL",
        "DROP TRIGGER core_auditentry_is_never_deleted ON core_auditentry",
        "CREATE OR REPLACE FUNCTION arena_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
        "ALTER TABLE core_user ADD COLUMN note text",
        "DROP TABLE core_notice",
        "CREATE TABLE mine (id int)",
        "DELETE FROM django_migrations",
        "COPY (SELECT 'x') TO PROGRAM 'id > /tmp/pwned'",
        "COPY (SELECT 'x') TO '/tmp/pwned'",
        "SELECT pg_read_file('/etc/passwd')",
        "CREATE ROLE another SUPERUSER",
        "ALTER ROLE CURRENT_USER SUPERUSER",
    ],
)
def test_the_site_is_refused_what_belongs_to_the_owner(as_site: None, statement: str) -> None:
    with (
        pytest.raises((ProgrammingError, InternalError)) as refused,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    said = str(refused.value)
    assert "permission denied" in said or "must be" in said, said


def test_the_site_reads_and_writes_its_rows(as_site: None) -> None:
    person = factories.user("ann")
    User.objects.filter(pk=person.pk).update(team="blue")
    AuditEntry.objects.create(action="tried", channel="command", model="user", object_name="ann")
    assert AuditEntry.objects.count() == 1
    person.delete()
    assert not User.objects.filter(pk=person.pk).exists()


def test_the_site_may_become_no_other_role(as_site: None) -> None:
    with connection.cursor() as cursor:
        # The session of this test began as a superuser, who may become every role; that of a site does not.
        cursor.execute("SELECT rolname FROM pg_roles WHERE pg_has_role(current_user, oid, 'MEMBER')")
        assert cursor.fetchall() == [(ROLE,)]


def test_a_restore_is_refused_before_anything_is_changed(as_site: None) -> None:
    assert not owns_database()
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
    assert owns_database()
