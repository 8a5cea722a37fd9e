"""No statement of the site takes PostgreSQL for ever."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection
from pytest_django.fixtures import Settings

import core.statements

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server that could be slow")


def _limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        found: str = cursor.fetchone()[0]
        return found


def test_a_statement_of_the_site_has_a_limit(settings: Settings) -> None:
    settings.DATABASE_DIRECT_URL = ""
    core.statements._bound(connection=connection)
    assert _limit() == f"{core.statements.MOST_SECONDS}s"


def test_a_pooler_is_asked_for_no_setting(settings: Settings) -> None:
    settings.DATABASE_DIRECT_URL = "postgresql://direct/arena"
    core.statements._bound(connection=connection)
    assert _limit() == "0"


def test_queries_are_not_compiled() -> None:
    assert settings.DATABASES["default"]["OPTIONS"]["connect_timeout"] == 2
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)
