"""No statement of the site takes PostgreSQL for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from pytest_django.fixtures import Settings

import core.statements
from tests.season.services import Postgres

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


FROZEN = """
import sys, django
django.setup()
from django.db import OperationalError, connection
import core.statements
core.statements.QUIET_SECONDS = 0.1
core.statements.GONE_SECONDS = 3600
core.statements.statements_bound()
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_backend_pid(), pg_sleep(1)")  # Slow, but not frozen.
    print(cursor.fetchone()[0], flush=True)
    sys.stdin.readline()
    for _ in range(2):
        try:
            connection.cursor().execute("SELECT 1")
        except OperationalError as error:
            print(error, flush=True)
            connection.close()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user of the server may enter."""
    with tempfile.TemporaryDirectory(prefix="arena-frozen-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_frozen_server_holds_no_request_and_no_new_connection(folder: Path) -> None:
    server = Postgres(folder)
    try:
        server.create("arena")
        variables = {
            **os.environ,
            "DATABASE_URL": server.url("arena"),
            "DEBUG": "true",
            "DATA_DIR": str(folder / "data"),
        }
        words = [sys.executable, "-c", FROZEN]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as asking:
            assert asking.stdout is not None
            frozen = [int(asking.stdout.readline()), server.pid]
            for pid in frozen:
                os.kill(pid, signal.SIGSTOP)
            try:
                said, _ = asking.communicate("\n", timeout=60)
            finally:
                for pid in frozen:
                    os.kill(pid, signal.SIGCONT)
        # First the connection that was open, then a new one, which the kernel takes and no process serves.
        assert said.count("PostgreSQL does not answer.") == 2
    finally:
        server.stop()
