#!/usr/bin/python3
"""Writes all tables of a database's schema as CSV, as `arena_kit.rollout.exports.csv_tables` reads them.

Usage: arena-export DATABASE [SCHEMA [FOLDER]], by default the schema public and the folder /export. Runs in a service
of base:postgres, as the user of its server. Rows stand in the order of the primary key, or of all their columns.
"""

import pathlib
import shutil
import sys

import psycopg2  # type: ignore[import-untyped]  # ships no types
from psycopg2 import sql

TYPES = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "bool": "boolean",
    "float4": "real",
    "float8": "real",
    "numeric": "real",
}
TABLES = """
    SELECT c.oid, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
"""
COLUMNS = """
    SELECT a.attname, t.typname, coalesce(a.attnum = ANY (i.indkey), false)
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


def main(database: str, schema: str = "public", folder: str = "/export") -> None:
    """Export one database. What an earlier export has left in the folder is removed."""
    target = pathlib.Path(folder)
    for path in target.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    connection = psycopg2.connect(host="/tmp", dbname=database)  # noqa: S108  # the server's own socket
    # One look at all tables: a request that is still at work changes nothing between them.
    connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
    with connection, connection.cursor() as cursor:
        cursor.execute(TABLES, (schema,))
        for oid, table in cursor.fetchall():
            cursor.execute(COLUMNS, (oid,))
            columns = cursor.fetchall()
            header = [f"{name}:{TYPES.get(kind, 'text')}{':key' if is_key else ''}" for name, kind, is_key in columns]
            named = sql.SQL(", ").join(sql.Identifier(name) for name, _, _ in columns)
            order = [name for name, _, is_key in columns if is_key] or [name for name, _, _ in columns]
            ordered = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(name)) for name in order)
            query = sql.SQL("COPY (SELECT {} FROM {} ORDER BY {}) TO STDOUT WITH (FORMAT csv)").format(
                named, sql.Identifier(schema, table), ordered
            )
            with (target / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
                file.write(",".join(header) + "\n")
                cursor.copy_expert(query, file)


main(*sys.argv[1:])
