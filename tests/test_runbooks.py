"""The runbooks of docs/operator/runbooks.md, followed after what they are about has really happened."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django_q.models import OrmQ
from docker.errors import APIError
from pytest_django.fixtures import Settings

from arena_kit.image.calls import engine
from arena_kit.ranking.pairing import round_robin
from core.append_only import FUNCTION
from core.jobs import worker
from core.jobs.selectors import attempts_of
from core.models import (
    Agent,
    Alarm,
    Build,
    Duel,
    Environment,
    JobState,
    LedgerEntry,
    Rating,
    Submission,
    User,
    Validation,
)
from core.operations.disks import disk_check
from core.operations.health import health_components
from core.operations.scaling.providers.local import LocalProvider
from core.tests.working import run
from core.tournaments.services import tournament_create
from duel_runner.tasks import leftovers_reap
from duel_runner.workplace import worker_label
from tests.backups import arena, rows
from tests.local_hosts import local_hosts
from tests.programs import ROOT, database_url
from tests.samples import FIRST, LAST, archive, deliver_messages, tic_tac_toe, upload
from tests.season.hosts import host_dies
from tests.season.stores import FolderStore
from tests.waiting import wait_until
from tests.workplaces import leave_workplace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly, pytest.mark.slow]
DEADLINE_SECONDS = 600
MIGRATIONS = ROOT / "core" / "migrations"
SLOW = FIRST.replace("return valid_actions", "__import__('time').sleep(0.05); return valid_actions")
DISK_BYTES, LARGEST_UPLOAD_BYTES = 32 << 20, 1 << 20


@pytest.fixture
def disk(settings: Settings, tmp_path: Path) -> Iterator[FolderStore]:
    """The folder of the files, on a small file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("a file system of its own takes root")
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    settings.MEDIA_ROOT, settings.MAX_UPLOAD_BYTES = tmp_path / "files", LARGEST_UPLOAD_BYTES
    store = FolderStore(tmp_path / "files", DISK_BYTES)
    try:
        yield store
    finally:
        store.end()


def sends(environment: Environment, name: str) -> tuple[Any, Any]:
    """A person uploads an agent on the page, and another one by the API, both after a log-in."""
    client = Client(raise_request_exception=False)
    # A third person, because two agents of one owner take part.
    client.force_login(User.objects.get_or_create(username="third", email="third@arena.example")[0])
    address = f"/environments/{environment.slug}/agents/"
    page = client.post(address, {"name": f"{name}-page", "archive": archive(LAST)})
    fields = {"environment": environment.slug, "name": f"{name}-api", "archive": archive(LAST)}
    return page, client.post("/api/v1/agents/", fields)


def parts() -> tuple[str, int]:
    """The part `storage` of /health, and how many alarms are open."""
    disk_check()
    return health_components()["storage"], Alarm.objects.filter(settled_at=None).count()


def test_a_full_disk_loses_nothing_and_needs_only_room(disk: FolderStore, settings: Settings) -> None:
    environment = tic_tac_toe()
    upload(environment, "first", FIRST)
    deliver_messages()
    assert parts() == ("healthy", 0)
    upload(environment, "last", LAST)
    run(Agent.objects.get(name="last").submissions.get().builds.get())
    validation = Validation.objects.get(submission__agent__name="last")
    before = {path for path in disk.folder.rglob("*") if path.is_file()}

    disk.fill()
    # People and programs are told so, and nothing half stored is left behind.
    settings.DEBUG = False
    page, api = sends(environment, "refused")
    settings.DEBUG = True
    assert [answer.status_code for answer in (page, api)] == [503, 503]
    assert [answer["Retry-After"] for answer in (page, api)] == ["600", "600"]
    assert "The arena&#x27;s disk is full" in page.content.decode()
    assert "The arena's disk is full" in api.json()["detail"]
    assert Agent.objects.count() == 2
    # What waits goes back to its line, and this worker begins nothing else meanwhile.
    run(validation)
    validation.refresh_from_db()
    assert (validation.state, validation.error_code) == (JobState.QUEUED, "store_full")
    assert not worker.is_well()
    assert parts() == ("unhealthy", 1)
    assert {path for path in disk.folder.rglob("*") if path.is_file()} - before == {disk.folder / ".filler"}
    # Pages and stored results are there as before.
    assert Client().get(f"/environments/{environment.slug}/").status_code == 200

    disk.empty()
    assert worker.is_well()
    assert parts() == ("healthy", 0)
    # As *Requeue* or the time of the delay does it.
    Validation.objects.update(not_before=None)
    page, api = sends(environment, "stored")
    assert [page.status_code, api.status_code] == [302, 201]
    deliver_messages()
    run(validation)
    deliver_messages()
    assert set(Validation.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}
    assert Duel.objects.count() == 6
    assert set(Duel.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}


@pytest.fixture
def hosts(settings: Settings, tmp_path: Path) -> Iterator[LocalProvider]:
    """Makes hosts: each is a group of real workers with containers of its own."""
    with local_hosts(settings, tmp_path, sandbox="docker") as made:
        yield made


def containers() -> set[str]:
    with engine() as client:
        return {str(one.id) for one in client.containers.list(all=True, filters={"label": worker_label()})}


def die(name: str) -> None:
    """Take a machine away: its processes and its containers, at once and without a word."""
    host_dies(name)
    with engine() as client:
        for one in client.containers.list(filters={"label": worker_label()}, ignore_removed=True):
            # Some end with their worker.
            with suppress(APIError):
                one.kill()


@pytest.mark.docker
def test_duels_of_a_lost_host_are_played_by_another_without_a_hand(hosts: LocalProvider) -> None:
    environment = tic_tac_toe()
    environment.matches_per_duel, environment.matches_per_validation = 40, 2
    environment.save()
    for number in range(3):
        upload(environment, f"slow-{number}", SLOW)
    for kind in (Build, Validation):
        for job in kind._default_manager.order_by("pk"):
            run(job)
    leave_workplace()
    assert containers() == set()
    OrmQ.objects.all().delete()
    submissions = list(Submission.objects.valid().order_by("pk"))
    rounds = [[(submissions[a], submissions[b]) for a, b in pairs] for pairs in round_robin(3)]
    tournament_create(environment=environment, edition=1, submissions=submissions, rounds=rounds, seed=1)
    hosts.create("lost")
    playing = Duel.objects.filter(state=JobState.RUNNING, worker__startswith="lost:", matches_done__gte=1)
    wait_until(playing.exists, "a duel in play on the first host")
    assert containers()

    die("lost")
    wait_until(lambda: hosts.hosts() == [], "the end of the first host")
    (lost,) = Duel.objects.filter(state=JobState.RUNNING)
    hosts.create("other")
    wait_until(lambda: not Duel.objects.exclude(state=JobState.SUCCEEDED).exists(), "an end of all duels")

    # The lost one was begun twice and counts once; it has cost the others nothing.
    assert dict(Duel.objects.values_list("pk", "attempt")) == {
        duel.pk: 1 + (duel.pk == lost.pk) for duel in Duel.objects.all()
    }
    assert all(duel.worker.startswith("other:") for duel in Duel.objects.filter(pk=lost.pk))
    assert LedgerEntry.objects.count() == 4 * Duel.objects.count()
    assert next(row.code for row in attempts_of(Duel.objects.get(pk=lost.pk))) == "worker_lost"
    said = io.StringIO()
    call_command("arena_status", stdout=said)
    assert re.search(r"^ +lost:\d+ +duel +lost ", said.getvalue(), re.MULTILINE), said.getvalue()
    hosts.close()
    leftovers_reap()
    assert containers() == set()


def test_a_lost_database_is_restored_and_nothing_of_it_differs(settings: Settings, tmp_path: Path) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("the file of SQLite is put back by a restore alone, see test_backup")
    settings.SANDBOX, settings.DEBUG = "process", True
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path / "data", tmp_path / "data" / "files"
    settings.MEDIA_ROOT.mkdir(parents=True)
    arena()
    call_command("recompute", stdout=io.StringIO())
    last_night, damaged = tmp_path / "last-night.tar", tmp_path / "damaged.tar"
    call_command("backup", last_night, stdout=io.StringIO())
    before, ratings = rows(), Rating.objects.order_by("pk").values_list("submission", "value", "low", "high")
    fitted = list(ratings)
    assert fitted
    # The restore has an entry of its own.
    del before["core.AuditEntry"]
    # While PostgreSQL starts, a backup reads every row of it.
    call_command("backup", damaged, stdout=io.StringIO())
    assert damaged.stat().st_size
    variables = {
        "DEBUG": "true", "DATABASE_URL": database_url(), "DATA_DIR": str(settings.DATA_DIR), "SANDBOX": "process",
        "CHANNEL_DIR": str(settings.CHANNEL_DIR), "SECRET_KEY": settings.SECRET_KEY,
    }  # fmt: skip
    with connection.cursor() as cursor:
        tables = ", ".join(connection.ops.quote_name(name) for name in connection.introspection.table_names())
        cursor.execute(f"DROP TABLE {tables} CASCADE; DROP FUNCTION IF EXISTS {FUNCTION}()")
    migrate_as_compose(ROOT, variables)
    assert Agent.objects.count() == 0
    connection.close()
    manage(ROOT, variables, "restore", last_night, "--replace", "--force")
    after = rows()
    assert {name: after[name] == before[name] for name in before} == dict.fromkeys(before, True)
    said = manage(ROOT, variables, "recompute")
    assert said
    assert rows()["core.Participant"] == before["core.Participant"]
    assert list(ratings.all()) == fitted


NEXT = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "{last}")]
    operations = [
        migrations.AddField("environment", "motto", models.TextField(db_default="")),
        migrations.CreateModel("Motto", [("id", models.BigAutoField(primary_key=True)), ("text", models.TextField())]),
    ]
"""
"""The migration of a release after this one, by the rules of docs/contributor/releases.md."""


@pytest.fixture
def next_release(tmp_path: Path) -> Path:
    """The code of a release after this one, whose only change is a migration."""
    folder = tmp_path / "next"
    large = {"node_modules", "data", "benchmarks", ".venv", ".git"}
    shutil.copytree(ROOT, folder, ignore=lambda path, _: large if Path(path) == ROOT else {"__pycache__"})
    migrations = folder / "core" / "migrations"
    last = max(path.stem for path in migrations.glob("0*.py"))
    (migrations / "9000_motto.py").write_text(NEXT.format(last=last))
    return folder


def manage(folder: Path, variables: Mapping[str, str], *arguments: str | Path) -> str:
    """Run a command of a release to its end, and return what it says."""
    done = subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=folder, env={**os.environ, **variables, "PYTHONPATH": str(folder)}, timeout=DEADLINE_SECONDS,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def migrate_as_compose(folder: Path, variables: Mapping[str, str]) -> None:
    """What the service `migrate` runs at each start."""
    for command in (("migrate", "--noinput"), ("first_organiser",), ("sync_environments", "--allow-left-out")):
        manage(folder, variables, *command)


@pytest.mark.both_databases
def test_the_release_before_runs_on_the_database_of_a_bad_one(
    next_release: Path, settings: Settings, tmp_path: Path
) -> None:
    settings.SANDBOX, settings.DEBUG = "process", True
    settings.DATA_DIR, settings.MEDIA_ROOT = tmp_path / "data", tmp_path / "data" / "files"
    settings.MEDIA_ROOT.mkdir(parents=True)
    variables = {
        "DEBUG": "true", "DATABASE_URL": database_url(), "DATA_DIR": str(settings.DATA_DIR), "SANDBOX": "process",
        "CHANNEL_DIR": str(settings.CHANNEL_DIR),
    }  # fmt: skip
    environment = tic_tac_toe()
    upload(environment, "first", FIRST)
    deliver_messages()
    before = tmp_path / "before.tar"
    try:
        call_command("backup", before, stdout=io.StringIO())
        migrate_as_compose(next_release, variables)
        assert "motto" in columns()

        # Back: this release starts as ever, people upload, and what waits is played.
        migrate_as_compose(ROOT, variables)
        assert manage(ROOT, variables, "check")
        Environment.objects.exclude(pk=environment.pk).update(is_active=False)
        upload(environment, "last", LAST)
        deliver_messages()
        assert set(Duel.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}
        assert Duel.objects.count() == 1
        client = Client()
        pages = ["/", f"/environments/{environment.slug}/", f"/duels/{Duel.objects.get().pk}/"]
        assert {page: client.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)

        # A night's backup of that time can be restored by the code that made it.
        amid = tmp_path / "amid.tar"
        call_command("backup", amid, stdout=io.StringIO())
        manage(ROOT, variables, "restore", amid, "--replace", "--force")
        assert Agent.objects.count() == 2

        # The mended release goes on from there.
        migrate_as_compose(next_release, variables)
        assert Agent.objects.count() == 2

        # Only if rows were damaged: the backup from before the upgrade.
        manage(ROOT, variables, "restore", before, "--replace", "--force")
        assert Agent.objects.count() == 1
        assert "motto" not in columns()
        migrate_as_compose(next_release, variables)
        assert "motto" in columns()
    finally:
        # The next test finds the tables of this release.
        connection.close()
        manage(next_release, variables, "migrate", "core", max(path.stem for path in MIGRATIONS.glob("0*.py")))


def columns() -> set[str]:
    connection.close()
    with connection.cursor() as cursor:
        table = connection.introspection.get_table_description(cursor, Environment._meta.db_table)
    return {column.name for column in table}


FOLLOWED = {
    "A host is lost": "test_duels_of_a_lost_host_are_played_by_another_without_a_hand",
    "The host of the site": "lose_the_host_and_follow_the_runbook",
    "The database is lost or damaged": "test_a_lost_database_is_restored_and_nothing_of_it_differs",
    "A disk is full": "test_a_full_disk_loses_nothing_and_needs_only_room",
    "The database's own disk is full": "test_health_fails_at_once_on_a_full_disk_of_the_database",
    "A certificate has expired": "test_a_site_gets_its_certificate_and_renews_it_without_a_break",
    "The registry of images is away": "test_an_empty_registry_in_the_place_of_a_lost_one_is_filled_again",
    "A bad release": "test_the_release_before_runs_on_the_database_of_a_bad_one",
}
"""By runbook: the test that follows it."""


def test_each_runbook_is_followed_by_a_test() -> None:
    text = (ROOT / "docs/operator/runbooks.md").read_text()
    assert set(re.findall(r"^## (.+)$", text, re.MULTILINE)) <= set(FOLLOWED)
    assert {name for name in FOLLOWED if name not in text} == set()
    tests = [
        path.read_text() for folder in ("tests", "core/operations/tests") for path in (ROOT / folder).glob("test_*.py")
    ]
    assert {name for name in FOLLOWED.values() if not any(f"def {name}(" in one for one in tests)} == set()
