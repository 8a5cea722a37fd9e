"""The direct address of a database behind a pooler: what backups use, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django.fixtures import Settings

from core.checks.startup import TAG
from core.operations.backup.direct import POSTGRESQL, direct_place

POOLED = {
    "ENGINE": POSTGRESQL, "NAME": "arena", "USER": "ann", "PASSWORD": "secret", "HOST": "pgbouncer", "PORT": 6432,
    "OPTIONS": {"sslmode": "disable"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("", {}),
        ("postgresql://bob:word@postgres:5433/other",
         {"NAME": "other", "USER": "bob", "PASSWORD": "word", "HOST": "postgres", "PORT": 5433, "OPTIONS": {}}),
        # Neither the port nor the options of the pooler.
        ("postgresql://ann@postgres/arena", {"HOST": "postgres", "PORT": "", "OPTIONS": {}}),
        ("postgresql://postgres?sslmode=require", {"HOST": "postgres", "PORT": "", "OPTIONS": {"sslmode": "require"}}),
        ("postgresql://%2Frun%2Fpostgresql/arena", {"HOST": "/run/postgresql", "PORT": "", "OPTIONS": {}}),
    ],
)  # fmt: skip
def test_the_direct_address_takes_nothing_of_the_poolers_place(
    settings: Settings, address: str, expected: dict[str, Any]
) -> None:
    settings.DATABASE_DIRECT_URL = address

    assert direct_place(POOLED) == POOLED | expected


@pytest.mark.parametrize(
    ("address", "engine", "problem"),
    [
        ("", "sqlite3", ""),
        ("postgresql://ann@postgres/arena", "postgresql", ""),
        ("postgresql://ann@postgres/arena", "sqlite3", "DATABASE_URL does not lead to PostgreSQL"),
        ("sqlite:///arena.sqlite3", "sqlite3", "is not the address of PostgreSQL"),
        ("postgres, the big one", "postgresql", "is not the address of a database"),
        ("postgresql://ann:my-secret@postgres:port/arena", "postgresql", "is not the address of a database"),
    ],
)
def test_an_address_that_contradicts_the_other_one_is_refused_at_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, address: str, engine: str, problem: str
) -> None:
    settings.DATABASE_DIRECT_URL = address
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", f"django.db.backends.{engine}")

    found = [message for message in run_checks(tags=[TAG]) if message.id == "arena.E024"]

    assert [problem in message.msg for message in found] == [True] * bool(problem)
    assert "my-secret" not in str(found)
