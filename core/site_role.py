"""The rights of the role as which site and workers use PostgreSQL. They do not own the database.

The owner runs `migrate`, `backup` and `restore`. The role reads and writes rows; it makes, changes and empties no
table, and tables of `core.append_only` only grow for it, whatever becomes of their triggers.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from core.append_only import TABLES

READ_ONLY = ("django_migrations",)


def role_grant(connection: BaseDatabaseWrapper) -> None:
    """Make the role of DATABASE_ROLE if it is missing, and give it its rights; do nothing without one."""
    name = settings.DATABASE_ROLE
    if connection.vendor != "postgresql" or not name:
        return
    role = connection.ops.quote_name(name)
    tables = set(connection.introspection.table_names())
    # At once, because the site is at work meanwhile.
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT current_schema(), current_database()")
        schema, database = cursor.fetchone()
        cursor.execute("SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = %s", [name])
        found = cursor.fetchone()
        if found == (True,):
            raise ImproperlyConfigured(f"DATABASE_ROLE: {name} may make roles or databases; name another role.")
        if found is None:
            cursor.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE")
        if settings.DATABASE_ROLE_PASSWORD:
            cursor.execute(f"ALTER ROLE {role} PASSWORD %s", [settings.DATABASE_ROLE_PASSWORD])
        place = connection.ops.quote_name(schema)
        for statement in (
            f"GRANT CONNECT ON DATABASE {connection.ops.quote_name(database)} TO {role}",
            f"REVOKE CREATE ON SCHEMA {place} FROM PUBLIC",
            f"GRANT USAGE ON SCHEMA {place} TO {role}",
            f"REVOKE ALL ON ALL TABLES IN SCHEMA {place} FROM {role}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO {role}",
            f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {place} TO {role}",
            *(f"REVOKE UPDATE, DELETE ON {table} FROM {role}" for table in TABLES if table in tables),
            *(f"REVOKE INSERT, UPDATE, DELETE ON {table} FROM {role}" for table in READ_ONLY if table in tables),
        ):
            cursor.execute(statement)
