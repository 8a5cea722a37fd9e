"""A database that reads and stores nothing: monitors see it at once, people get an alarm that is no row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core import mail
from django.core.cache import cache
from django.db import connection
from django.db.models import Model
from django.test import Client
from pytest_django.fixtures import Settings

from core.jobs.workers import worker_appear
from core.models import Alarm, Delivery, Duty, EventKind, Webhook
from core.notices import deliveries
from core.notices.outgoing import ReceiverAnswer
from core.operations.watchdog import queues_check
from core.operations.writable import PATIENCE_SECONDS, PAUSE_SECONDS, WriteWatch
from tests.postgres import postgres_url
from tests.programs import ROOT

pytestmark = pytest.mark.django_db(transaction=True)
ASKED = """
    import django, os
    django.setup()
    from core.operations.health import health_components
    from core.operations.writable import database_write
    print(health_components()["database"])
    rest = os.environ["REST"]
    with open(rest, "wb", buffering=0) as file:
        try:
            while file.write(bytes(65536)):
                pass
        except OSError:
            pass
    print(health_components()["database"])
    os.unlink(rest)
    print(health_components()["database"])
"""


@contextmanager
def read_only() -> Iterator[None]:
    """PostgreSQL refuses writes of this connection and of new ones, as it does on a server that only follows."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one disk with the files, which is looked at by itself")
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        cursor.execute("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
            cursor.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_health_fails_at_once_while_the_database_stores_nothing(client: Client) -> None:
    queues_check(worker="host:1")
    worker_appear(name="host:1", host="host", pid=1, queue="duel", version="1", python="3")
    before = set(Duty.objects.values_list("name", flat=True))
    for _ in range(2):
        with read_only():
            cache.clear()
            answer = client.get("/health")
            unhealthy = [name for name, state in answer.json()["components"].items() if state == "unhealthy"]
            assert (answer.status_code, unhealthy) == (503, ["database"])
        cache.clear()
        assert client.get("/health").status_code == 200
    assert set(Duty.objects.values_list("name", flat=True)) == before


def test_people_get_mail_and_webhooks_once_an_hour_while_no_row_can_be_written(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ADMINS = [("ann", "ann@example.org")]
    posted: list[str] = []

    def post(url: str, *, body: bytes, headers: object) -> ReceiverAnswer:
        posted.append(f"{url} {json.loads(body)['data']['key']}")
        return ReceiverAnswer(204, "", 0)

    monkeypatch.setattr(deliveries, "post", post)
    for name, kinds in {"chat": [EventKind.ALARM.value], "news": [EventKind.LEADER_CHANGED.value]}.items():
        Webhook.objects.create(name=name, secret="s", kinds=kinds, secret_url=f"https://{name}.example/")
    times: list[float] = [0.0]
    watch = WriteWatch(clock=lambda: times[-1])
    watch.look()
    with read_only():
        sent = []
        for at in (10.0, 10 + PATIENCE_SECONDS / 2, 10 + PATIENCE_SECONDS, 1000.0, 50 + PAUSE_SECONDS):
            times.append(at)
            watch.look()
            sent.append((len(mail.outbox), len(posted)))
        assert sent == [(0, 0), (0, 0), (1, 1), (1, 1), (2, 2)]
    assert mail.outbox[0].to == ["ann@example.org"]
    assert "read-only" in mail.outbox[0].body
    assert posted[0] == "https://chat.example/ database-stores-nothing"
    watch.look()
    # A new outage has its own patience and its own mail.
    with read_only():
        for at in (9000.0, 9000 + PATIENCE_SECONDS):
            times.append(at)
            watch.look()
    assert len(mail.outbox) == 3
    rows: list[type[Model]] = [Alarm, Delivery]
    assert [row._default_manager.count() for row in rows] == [0, 0]


@pytest.mark.slow
@pytest.mark.nightly
def test_health_fails_at_once_on_a_full_disk_of_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its server is another user, and its socket needs a short path.
    disk = Path(tempfile.mkdtemp(prefix="arena-full-"))
    disk.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", "size=192m,mode=0755", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode:
        disk.rmdir()
        pytest.skip("a small disk needs the rights to mount it")
    try:
        monkeypatch.delenv("ARENA_TEST_DATABASE_URL", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        with postgres_url() as url:
            own = {
                "DATABASE_URL": url, "DEBUG": "true", "DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT),
                "DJANGO_SETTINGS_MODULE": "core.settings", "REST": str(disk / "rest"), "REDIS_URL": "",
            }  # fmt: skip
            for program in (["manage.py", "migrate", "--verbosity=0"], ["-c", textwrap.dedent(ASKED)]):
                done = subprocess.run(
                    [sys.executable, *program], cwd=ROOT, env={**os.environ, **own}, text=True, check=False,
                    capture_output=True,
                )  # fmt: skip
                assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.split() == ["healthy", "unhealthy", "healthy"]
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        disk.rmdir()
