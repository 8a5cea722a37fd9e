"""The dumps of all releases, and one of the present version, are restored and migrated by the present version."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import threading
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from core.models import Environment, Participant, Rating
from core.operations import migrating
from core.operations.backup.database import database_load
from core.version import arena_version
from tests.backups import arena, run, start_anew
from tests.releases import FOLDER, dumps_of

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow, pytest.mark.nightly,
]  # fmt: skip


def tables() -> list[tuple[object, ...]]:
    """What everybody sees of the results, which no upgrade may change."""
    places = Participant.objects.order_by("pk").values_list("pk", "rank", "points", "wins", "losses", "draws")
    ratings = Rating.objects.order_by("pk").values_list("submission", "value", "low", "high", "match_count")
    return [*places, *ratings]


@pytest.mark.parametrize("is_read_at_length", [False, True])
def test_the_first_release_is_upgraded_beside_readers_or_refused_and_upgraded_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read_at_length: bool
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("readers of SQLite hold up no migration")
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(migrating, "LOCK_SECONDS", 0.5)
    with tarfile.open(FOLDER / "0.1.0-postgresql.tar") as tar, (tmp_path / "database").open("wb") as copy:
        shutil.copyfileobj(tar.extractfile("database") or io.BytesIO(), copy)
    database_load(tmp_path / "database")
    over, errors = threading.Event(), []
    names = sorted(name for name in connection.introspection.table_names() if name.startswith("core_"))

    def read() -> None:
        try:
            while not over.is_set():
                for table in names:
                    with connection.cursor() as cursor:
                        cursor.execute(f"SELECT count(*) FROM {table}")
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    report = connection.copy()
    report.set_autocommit(False)
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        if is_read_at_length:
            with report.cursor() as cursor:
                cursor.execute(f"SELECT {', '.join(f'(SELECT count(*) FROM {name})' for name in names)}")
            with pytest.raises(CommandError, match="A table is in use by process"):
                call_command("migrate", verbosity=0, stderr=io.StringIO())
            report.rollback()
        call_command("migrate", verbosity=0, stderr=io.StringIO())
    finally:
        over.set()
        for reader in readers:
            reader.join()
        report.close()
    assert errors == []
    call_command("migrate", check_unapplied=True, verbosity=0)


def test_an_arena_of_every_release_goes_on_in_this_one(tmp_path: Path) -> None:
    arena()
    run("recompute")
    now = tmp_path / f"{arena_version()}-{connection.vendor}.tar"
    run("backup", now)
    if os.environ.get("ARENA_RELEASE_DUMP"):
        shutil.copyfile(now, FOLDER / now.name)
        (FOLDER / now.name).chmod(0o644)
    for dump in (*dumps_of(connection.vendor), now):
        start_anew()
        run("restore", dump, "--replace")
        call_command("migrate", check_unapplied=True, verbosity=0)
        before = tables()
        assert before, dump.name
        run("recompute")
        assert tables() == before, dump.name
        client = Client()
        pages = ["/", *(f"/environments/{row.slug}/" for row in Environment.objects.filter(is_active=True))]
        assert {path: client.get(path).status_code for path in pages} == dict.fromkeys(pages, 200), dump.name
