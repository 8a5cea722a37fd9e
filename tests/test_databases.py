"""A test that commits leaves the database as the migrations have made it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, connection, transaction
from django_q.models import Schedule

from core.append_only import unprotect
from core.models import AuditEntry, User
from core.people.audit_log import Operator, audit_record
from core.tests import factories
from tests.databases import AsMigrated

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def test_what_migrations_have_written_comes_back_and_all_else_goes() -> None:
    migrated = AsMigrated()
    types, rights = ContentType.objects.in_bulk(), set(Permission.objects.values_list("pk", "codename"))
    schedules = list(Schedule.objects.order_by("pk").values())
    # As a restored backup does: other numbers for the same models, and kept in memory.
    Permission.objects.all().delete()
    ContentType.objects.all().delete()
    ContentType.objects.clear_cache()
    anew = ContentType.objects.get_for_model(User)
    Schedule.objects.update(minutes=99)
    factories.user("anna").user_permissions.add(
        Permission.objects.create(content_type=anew, codename="a", name="new right")
    )
    audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "anna"), action="migrate")
    unprotect(connection)

    migrated.restore()

    assert ContentType.objects.in_bulk() == types
    assert types[ContentType.objects.get_for_model(User).pk].model == "user"
    assert set(Permission.objects.values_list("pk", "codename")) == rights
    assert list(Schedule.objects.order_by("pk").values()) == schedules
    assert not User.objects.exists()
    assert not AuditEntry.objects.exists()
    audit_record(operator=Operator(AuditEntry.Channel.COMMAND, "anna"), action="migrate")
    with pytest.raises(IntegrityError, match="only grows"), transaction.atomic():
        AuditEntry.objects.all().delete()


def test_numbers_go_on_behind_the_rows_that_came_back() -> None:
    migrated = AsMigrated()
    last = ContentType.objects.order_by("pk").last()
    assert last is not None
    Permission.objects.all().delete()
    ContentType.objects.all().delete()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(pg_get_serial_sequence('django_content_type', 'id'), 1)")

    migrated.restore()

    assert ContentType.objects.create(app_label="core", model="new").pk > last.pk
