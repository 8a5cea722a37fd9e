"""The arena behind PgBouncer, which gives a connection to each transaction and keeps nothing between two."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg2  # type: ignore[import-untyped]  # has no types
import pytest
from django.db import connection

from tests.postgres import unprivileged_user

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/sbin")
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.nightly,
    pytest.mark.skipif(PROGRAM is None, reason="needs pgbouncer (apt-get install pgbouncer)"),
]
SETTINGS = """
[databases]
{name} = host={host} port={port} dbname={name} user={user}{secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
"""
USE = """
import threading
from django.db import connection, transaction
from core.models import Environment

def read():
    for _ in range(20):
        assert len(list(Environment.objects.iterator(chunk_size=1))) > 10
        with transaction.atomic():
            list(Environment.objects.select_for_update(skip_locked=True)[:1])
        connection.close()

assert connection.settings_dict["CONN_MAX_AGE"] == 0
threads = [threading.Thread(target=read) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("rows", Environment.objects.count())
"""


def address(place: dict[str, str], *, database: str) -> str:
    """Return a database's address; a folder of a socket stands in it percent-encoded."""
    login = place["USER"] + (f":{place['PASSWORD']}" if place["PASSWORD"] else "")
    host = place["HOST"].replace("/", "%2F") or "localhost"
    return f"postgresql://{login}@{host}{':' + str(place['PORT']) if place['PORT'] else ''}/{database}"


@pytest.fixture
def direct() -> Iterator[tuple[dict[str, str], str]]:
    """An empty database: where its server is, and its name."""
    place = {name: str(connection.settings_dict[name] or "") for name in ("USER", "PASSWORD", "HOST", "PORT")}
    name = f"pooled_{os.getpid()}"

    def server(sql: str) -> None:
        made = psycopg2.connect(
            dbname="postgres", user=place["USER"], password=place["PASSWORD"] or None,
            host=place["HOST"] or None, port=place["PORT"] or None,
        )  # fmt: skip
        made.autocommit = True
        made.cursor().execute(sql)
        made.close()

    server(f"CREATE DATABASE {name}")
    yield place, name
    server(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def pooled(direct: tuple[dict[str, str], str]) -> Iterator[str]:
    place, name = direct
    folder = Path(tempfile.mkdtemp(prefix="arena-pgbouncer-"))
    folder.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    values = {key.lower(): value for key, value in place.items()} | {
        "port": place["PORT"] or "5432",
        # PgBouncer takes an empty password for a mistake.
        "secret": f" password={place['PASSWORD']}" if place["PASSWORD"] else "",
    }
    settings = folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(**values, name=name, own_port=port))
    assert PROGRAM is not None
    # It refuses to run as root, and a private server's socket is in a folder that only the server's user may enter.
    with subprocess.Popen(
        [PROGRAM, str(settings)], user=unprivileged_user(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        try:
            _wait_for(port)
            yield f"postgresql://{place['USER']}@127.0.0.1:{port}/{name}"
        finally:
            run.terminate()
    shutil.rmtree(folder)


def _wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < until, "pgbouncer does not answer"
            time.sleep(0.05)


def test_the_arena_works_behind_a_pooler(pooled: str, direct: tuple[dict[str, str], str], tmp_path: Path) -> None:
    place, name = direct
    environment = {
        **os.environ, "DATABASE_URL": pooled, "DEBUG": "true", "REDIS_URL": "",
        "DATABASE_DIRECT_URL": address(place, database=name), "DATA_DIR": str(tmp_path), "SANDBOX": "process",
    }  # fmt: skip

    def manage(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    manage("migrate")
    manage("sync_environments")
    assert "rows" in manage("shell", "-c", USE)
    manage("backup", str(tmp_path / "kept.tar"))
    assert (tmp_path / "kept.tar").stat().st_size > 10_000
