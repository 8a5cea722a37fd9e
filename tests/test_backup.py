"""The whole arena in one file and back: with played duels, evaluations and uploads, on the database under test."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django_q.models import OrmQ, Schedule
from pytest_django.fixtures import Settings

from arena_kit.machine.files import lock
from core.duels.selectors import records_open
from core.files.removed import removed_name
from core.models import Agent, Duel, Evaluation, JobState, LedgerEntry, Submission, User
from core.operations.backup import database as dumps
from core.operations.backup import make as making
from core.operations.backup import restore as restoring
from core.operations.backup.archive import ENVIRONMENTS, reading
from core.operations.backup.errors import BackupError
from core.operations.backup.make import backup_make
from core.submissions.existing import submission_delete
from core.submissions.images import CHECK
from tests.backups import DAMAGES, arena, files, rows, run, start_anew, state
from tests.samples import FIRST, tic_tac_toe, upload, zip_of
from web.tests import played

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("store"),
    pytest.mark.both_databases,
    pytest.mark.slow,
]
NOW = datetime(2020, 11, 21, 16, 30, tzinfo=UTC)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of an arena with something in it, which is still there."""
    Client().force_login(arena().player_1.agent.owner)
    assert Session.objects.exists()
    assert OrmQ.objects.exists()
    path = tmp_path / "arena.tar"
    run("backup", path)
    return path


def test_everything_comes_back_into_a_new_arena(backup: Path) -> None:
    before = state()
    assert backup.stat().st_mode & 0o777 == 0o600
    start_anew()

    said = run("restore", backup)

    after = state()
    assert after[1] == before[1]
    assert after[0] == before[0]
    duel = Duel.objects.order_by("pk")[0]
    with records_open(duel) as archive:
        assert archive.match_count == duel.match_count
    assert f"is restored with {len(after[1])} files in " in said
    # The holder of a session is logged in: sessions are not in backups, nor is what can be sent anew.
    assert not Session.objects.exists()
    assert not OrmQ.objects.exists()
    # Nor are images: the builder looks which of them this host does not have.
    assert Schedule.objects.get(name=CHECK).args == "('images_restore', 0)"
    # Numbers go on where they were.
    assert Agent.objects.create(
        owner=duel.player_1.agent.owner, environment=duel.its_tournament.environment, name="next"
    ).pk > max(Agent.objects.filter(submissions__isnull=False).values_list("pk", flat=True))


def test_what_is_wrong_with_a_backup_is_found_before_anything_is_touched(backup: Path, tmp_path: Path) -> None:
    before = state()
    for name, (damage, sentence) in DAMAGES.items():
        damaged = tmp_path / name
        shutil.copyfile(backup, damaged)
        damage(damaged)
        with pytest.raises(CommandError, match=sentence):
            run("restore", damaged, "--replace")
        assert state() == before, name


def test_what_a_release_saves_on_the_database_of_the_next_one_it_restores(backup: Path, tmp_path: Path) -> None:
    later = MigrationRecorder(connection).migration_qs.create(app="core", name="9999_later")
    try:
        amid = tmp_path / "amid.tar"
        run("backup", amid)
        before = state()
        start_anew()
        run("restore", amid)
        assert state() == before
        assert MigrationRecorder(connection).migration_qs.filter(name="9999_later").exists()
    finally:
        MigrationRecorder(connection).migration_qs.filter(name=later.name).delete()


def test_an_arena_in_use_is_replaced_only_when_asked(backup: Path) -> None:
    wanted = state()
    User.objects.update(team="Changed since")
    late = upload(tic_tac_toe(), "late", FIRST)
    changed = next(name for name in files() if name.endswith("records.zip"))
    default_storage.delete(changed)
    default_storage.save(changed, ContentFile(b"damaged"))
    before = state()

    with pytest.raises(CommandError, match="in use. Use --replace"):
        run("restore", backup)
    assert state() == before

    run("restore", backup, "--replace")
    assert rows()["core.User"] == wanted[0]["core.User"]
    # A file that no row names any more stays where it is.
    assert files() == {**wanted[1], str(late.archive.name): zip_of(FIRST)}


def test_environments_of_organisers_come_back_too(tmp_path: Path, settings: Settings) -> None:
    folder = settings.ENVIRONMENTS_DIR = tmp_path / "environments"
    (folder / "nim" / "__pycache__").mkdir(parents=True)
    (folder / "nim" / "info.yml").write_text("slug: nim")
    (folder / "nim" / "__pycache__" / "rules.pyc").write_bytes(b"made by Python")
    (folder / "nim" / "secret").symlink_to("/etc/passwd")
    (folder / "lake.yml").write_text("slug: lake")
    (folder / "earlier" / "lake-v1").mkdir(parents=True)
    (folder / "earlier" / "lake-v1" / "lake.yml").write_text("slug: lake")
    path = tmp_path / "arena.tar"
    run("backup", path)
    with reading(path) as backup:
        assert set(backup.files(ENVIRONMENTS)) == {"lake.yml", "nim/info.yml", "earlier/lake-v1/lake.yml"}
    start_anew()
    shutil.rmtree(folder / "nim")
    shutil.rmtree(folder / "earlier")
    (folder / "lake.yml").write_text("slug: another")

    with pytest.raises(CommandError, match="environments has another file as lake.yml. Use --replace"):
        run("restore", path)
    assert not (folder / "nim").exists()
    run("restore", path, "--replace")
    assert (folder / "nim" / "info.yml").read_text() == "slug: nim"
    assert (folder / "lake.yml").read_text() == "slug: lake"
    assert (folder / "earlier" / "lake-v1" / "lake.yml").read_text() == "slug: lake"


@pytest.mark.nightly
def test_a_store_with_another_file_under_a_name_is_not_overwritten_unasked(backup: Path) -> None:
    taken = next(name for name in files() if name.endswith("records.zip"))
    start_anew()
    default_storage.save(taken, ContentFile(b"another"))
    with pytest.raises(CommandError, match="The store has another file"):
        run("restore", backup)
    assert not User.objects.exists()
    assert files() == {taken: b"another"}


@pytest.mark.parametrize("step", ["files", pytest.param("look", marks=pytest.mark.nightly)])
def test_a_restore_that_fails_leaves_what_was(backup: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    changed = next(name for name in files() if name.endswith("records.zip"))
    default_storage.delete(changed)
    default_storage.save(changed, ContentFile(b"damaged"))
    default_storage.delete(next(name for name in files() if name.startswith("archives")))
    User.objects.update(team="Changed since")
    before = state()

    def fail(*_: object, **__: object) -> None:
        raise BackupError(f"The disk is full at {step}.")

    if step == "files":
        stored = iter([restoring._save])
        monkeypatch.setattr(restoring, "_save", lambda *given: next(stored, fail)(*given))
        # What is put back when it fails has to be stored, too.
        monkeypatch.setattr(
            restoring, "_put", lambda store, name, path: store.save(name, ContentFile(path.read_bytes()))
        )
    else:
        monkeypatch.setattr(restoring, "_check_files", fail)

    with pytest.raises(CommandError, match=f"The disk is full at {step}"):
        run("restore", backup, "--replace")

    assert state() == before
    assert Session.objects.exists()


@pytest.mark.nightly
def test_what_was_there_is_kept_where_even_putting_it_back_fails(
    backup: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before, load = state(), dumps.database_load
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def load_once(path: Path | None) -> None:
        monkeypatch.setattr(restoring, "database_load", fail)
        load(path)

    def fail(*_: object) -> None:
        raise BackupError("The disk is full.")

    User.objects.update(team="Changed since")
    changed = rows()["core.User"]
    monkeypatch.setattr(restoring, "database_load", load_once)
    monkeypatch.setattr(restoring, "_check_files", fail)
    with pytest.raises(CommandError, match="its dump is kept as"):
        run("restore", backup, "--replace")
    assert rows()["core.User"] == before[0]["core.User"]

    (kept,) = tmp_path.glob("arena-before-restore-*/before")
    load(kept)
    assert rows()["core.User"] == changed


@pytest.mark.nightly
def test_a_dump_that_the_database_refuses_halfway_changes_nothing(backup: Path) -> None:
    before = state()
    dump = backup.with_name("dump")
    dumps.database_dump(dump)
    data = bytearray(dump.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    dump.write_bytes(data)
    with pytest.raises(BackupError):
        dumps.database_load(dump)
    assert state() == before


def test_a_backup_of_an_older_arena_is_migrated(backup: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = MigrationExecutor(connection).loader.graph
    (newest,) = graph.leaf_nodes("axes")
    older = [node for node in graph.forwards_plan(newest) if node[0] == "axes"][-2]
    old = tmp_path / "old.tar"
    call_command("migrate", *older, verbosity=0)
    with pytest.raises(CommandError, match="older than this code: run `manage.py migrate`"):
        run("backup", tmp_path / "refused.tar")
    with monkeypatch.context() as patch:
        # As the older code would, which knew of no other migrations.
        patch.setattr(MigrationExecutor, "migration_plan", lambda *_: [])
        run("backup", old)
    call_command("migrate", verbosity=0)
    duels = rows()["core.Duel"]
    Duel.objects.filter(state=JobState.QUEUED).delete()

    run("restore", old, "--replace")

    assert rows()["core.Duel"] == duels
    assert newest in MigrationRecorder(connection).applied_migrations()
    with reading(old) as made:
        assert made.manifest.migrations["axes"][-1] == older[1]


def test_a_backup_made_while_workers_write_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duel = arena()
    waiting = [played.waiting_duel(duel.its_tournament, duel.player_1, duel.player_2, 4) for _ in range(12)]
    begun, taken = threading.Event(), threading.Event()

    def work() -> None:
        try:
            for number, row in enumerate(waiting):
                played.play(row)
                begun.set()
                if number == 6:
                    taken.wait(120)
        finally:
            connection.close()

    dump = dumps.database_dump

    def dump_and_tell(path: Path) -> dumps.Dump:
        made = dump(path)
        taken.set()
        worker.join(120)
        return made

    monkeypatch.setattr(making, "database_dump", dump_and_tell)
    worker = threading.Thread(target=work)
    worker.start()
    begun.wait(120)
    made = backup_make(tmp_path / "arena.tar", now=NOW)
    worker.join(120)
    assert not Duel.objects.filter(pk__in=[row.pk for row in waiting]).exclude(state=JobState.SUCCEEDED).exists()
    start_anew()

    run("restore", made.path)

    done = Duel.objects.filter(state=JobState.SUCCEEDED)
    assert 3 <= done.count() < 2 + len(waiting)
    assert LedgerEntry.objects.count() == 4 * done.count()
    for row in done:
        with records_open(row) as archive:
            assert archive.match_count == row.matches_done
    assert set(files()) == dumps.files_named()


@pytest.mark.nightly
def test_what_is_deleted_while_a_backup_is_made_is_told_apart_from_what_was_lost(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Evaluation.objects.get().records
    lost.storage.delete(str(lost.name))
    deleted = Submission.objects.get(agent__name="last")
    dump = dumps.database_dump

    def dump_and_delete(path: Path) -> dumps.Dump:
        made = dump(path)
        submission_delete(submission=deleted)
        return made

    monkeypatch.setattr(making, "database_dump", dump_and_delete)
    made = backup_make(tmp_path / "second.tar", now=NOW)

    assert made.gone == (str(deleted.archive.name),)
    assert made.missing == (str(lost.name),)
    assert "Already missing when the backup was made: 2" in run("restore", made.path, "--replace")
    assert Submission.objects.get(pk=deleted.pk).deleted_at is None


def test_files_that_are_not_kept_any_longer_are_not_missed(backup: Path, tmp_path: Path) -> None:
    duel = Duel.objects.order_by("pk")[0]
    Duel.objects.filter(pk=duel.pk).update(records=removed_name(NOW.date()))
    submission_delete(submission=Submission.objects.get(agent__name="last"))
    said = run("backup", tmp_path / "second.tar")
    assert "Missing" not in said
    assert "Deleted" not in said


def test_old_backups_of_a_folder_are_deleted_when_a_new_one_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for day in range(1, 4):
        backup_make(folder, now=NOW - timedelta(days=day))
    (folder / "arena-notes.tar").write_text("kept")

    run("backup", folder, "--keep", "2")

    *left, notes = sorted(path.name for path in folder.iterdir())
    assert len(left) == 2
    assert left[0] == "arena-20201120T163000Z.tar"
    assert notes == "arena-notes.tar"


def test_what_a_killed_backup_left_goes_with_the_next_one(tmp_path: Path) -> None:
    killed = tmp_path / "arena-20260101T000000Z.tar.77.part"
    killed.write_bytes(b"half")
    (tmp_path / "arena-backup-abc").mkdir()
    (tmp_path / "arena-backup-abc" / "database").write_bytes(b"a copy")
    living = tmp_path / "arena-20260101T000001Z.tar.78.part"
    with living.open("wb") as file:
        assert lock(file.fileno())
        backup_make(tmp_path / "first.tar", now=datetime.now(UTC))
        assert not killed.exists()
        # It may belong to the one that is still being written.
        assert (tmp_path / "arena-backup-abc").exists()
        assert living.exists()
    backup_make(tmp_path / "second.tar", now=datetime.now(UTC))
    assert {path.name for path in tmp_path.iterdir()} - {"store"} == {"first.tar", "second.tar"}


def test_a_backup_is_never_written_over_and_leaves_nothing_when_it_fails(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="never overwritten"):
        run("backup", backup)
    with pytest.raises(CommandError, match="The folder .* does not exist"):
        run("backup", tmp_path / "nowhere" / "arena.tar")
    with pytest.raises(CommandError, match="--keep needs a folder"):
        run("backup", tmp_path / "other.tar", "--keep", "3")

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(making, "_manifest", fail)
    with pytest.raises(CommandError, match="No space left"):
        run("backup", tmp_path / "other.tar")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arena.tar", "store"]


def test_postgres_programs_get_the_password_by_their_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}

    def popen(command: list[str], **options: Any) -> None:
        started.update(command=command, variables=options["env"])
        raise FileNotFoundError

    settings = {"NAME": "arena", "USER": "arena", "HOST": "db", "PORT": 5432, "PASSWORD": "s3cret", "OPTIONS": {}}
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", popen)
        for name, value in settings.items():
            patch.setitem(connection.settings_dict, name, value)
        with pytest.raises(BackupError, match="apt install postgresql-client"), dumps._running("pg_dump", "--verbose"):
            pytest.fail("it cannot run")
    assert started["command"] == [
        "pg_dump",
        "--verbose",
        "-U",
        "arena",
        "-h",
        "db",
        "-p",
        "5432",
        "--dbname=arena",
    ]
    assert started["variables"]["PGPASSWORD"] == "s3cret"
