"""In which order an upload is decided about, inspected and stored, and what it holds up meanwhile."""

from __future__ import annotations

import fcntl
import io
import tempfile
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.image.errors import BuildFailed
from arena_kit.image.recipe import unpack
from arena_kit.upload import inspection
from core.errors import QuotaExceeded, Refused
from core.files.storage import LocalStorage, incoming_folder, incoming_sweep
from core.models import Agent, Environment, JobState, Submission, User
from core.people.quotas import address_digest
from core.people.services import anonymous_ensure
from core.submissions import uploads
from core.submissions.services import agent_create, submission_create
from core.tests import factories
from core.tests.concurrency import at_once
from tests.samples import FIRST, archive
from web.site.uploads import IncomingFile

on_a_real_database = pytest.mark.django_db(transaction=True)
BROKEN = "class Player\n    pass\n"
SAID = "player.py does not compile: line 1: expected ':'."


@pytest.fixture
def alice() -> User:
    return factories.user("alice")


@pytest.fixture
def environment() -> Environment:
    return factories.environment()


def create(
    owner: User,
    environment: Environment,
    file: UploadedFile[bytes] | None = None,
    name: str = "anna",
    **named: Any,
) -> Submission:
    file = file or archive(FIRST)
    return agent_create(owner=owner, environment=environment, name=name, is_public=False, archive=file, **named)


def incoming(source: str) -> IncomingFile:
    """A file as a request brings it."""
    data = archive(source).read()
    file = IncomingFile("agent.zip", "application/zip", None, None)
    file.write(data)
    file.size = len(data)
    return file


def no_inspection(*_: object, **__: object) -> bool:
    raise AssertionError("Nothing is inspected of what there is no place for.")


# --- First the quota --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_quota_is_asked_before_any_work(
    settings: Settings, alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(alice, environment)
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 1}
    monkeypatch.setattr(uploads, "inspect_apart", no_inspection)
    with pytest.raises(QuotaExceeded):
        create(alice, environment, name="berta")
    with pytest.raises(QuotaExceeded):
        submission_create(agent=Agent.objects.get(), archive=archive("# more\n" + FIRST))


@on_a_real_database
def test_of_uploads_at_once_as_many_are_taken_as_the_quota_has_places(
    settings: Settings, alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 2}
    before = set(Path(settings.MEDIA_ROOT).rglob("*.zip"))
    # None is counted before all of them have been looked at.
    together = threading.Barrier(5, timeout=60)

    def inspect(*_: object, **__: object) -> bool:
        together.wait()
        return True

    def upload(number: int) -> Callable[[], str]:
        def run() -> str:
            try:
                create(alice, environment, archive(f"# {number}\n{FIRST}"), name=f"agent-{number}")
            except QuotaExceeded as refusal:
                return refusal.code
            return "uploaded"

        return run

    monkeypatch.setattr(uploads, "inspect_apart", inspect)
    said = at_once(*(upload(number) for number in range(5)))
    assert sorted(said) == ["quota_uploads_per_day"] * 3 + ["uploaded"] * 2
    kept = {Path(row.archive.path) for row in Submission.objects.all()}
    assert set(Path(settings.MEDIA_ROOT).rglob("*.zip")) - before == kept


@pytest.mark.django_db
@pytest.mark.parametrize("fails", ["uploads.inspect_apart", "uploads.upload_stored", "services.job_enqueue"])
def test_what_fails_on_its_way_takes_no_place_and_leaves_no_file(
    settings: Settings, alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 1}
    before = set(Path(settings.MEDIA_ROOT).rglob("*.zip"))

    def fail(*_: object, **__: object) -> None:
        raise OSError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(f"core.submissions.{fails}", fail)
        with pytest.raises(OSError, match="disk is full"):
            create(alice, environment)
    assert not Agent.objects.exists()
    assert set(Path(settings.MEDIA_ROOT).rglob("*.zip")) == before
    assert create(alice, environment).number == 1


@pytest.mark.django_db
def test_the_last_place_goes_to_the_upload_that_is_made_first(
    settings: Settings, alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 1}

    others = iter([True])

    def slowly(*_: object, **__: object) -> bool:
        if next(others, False):
            create(alice, environment, archive(f"# other\n{FIRST}"), name="quicker")
        return True

    monkeypatch.setattr(uploads, "inspect_apart", slowly)
    with pytest.raises(QuotaExceeded):
        create(alice, environment)
    assert Submission.objects.get().agent.name == "quicker"


@pytest.mark.django_db
def test_an_upload_into_an_environment_that_is_removed_meanwhile_is_refused(
    alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: object, **__: object) -> bool:
        Environment.objects.filter(pk=environment.pk).delete()
        return True

    monkeypatch.setattr(uploads, "inspect_apart", slowly)
    with pytest.raises(Refused, match="was removed a moment ago"):
        create(alice, environment)


@on_a_real_database
def test_a_form_that_is_sent_twice_at_once_is_one_upload_also_where_the_quota_has_one_place(
    settings: Settings, alice: User, environment: Environment
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": 1, "concurrent_jobs": 1}
    made = at_once(*(lambda: create(alice, environment).pk for _ in range(2)))
    assert made[0] == made[1] == Submission.objects.get().pk


# --- Nothing held meanwhile -------------------------------------------------------------------------------


@on_a_real_database
def test_no_transaction_is_open_while_an_upload_is_inspected_or_stored(
    alice: User, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bool]] = []
    save = LocalStorage._save

    def inspect(*_: object, **__: object) -> bool:
        seen.append(("inspect", connection.in_atomic_block))
        return True

    def store(self: LocalStorage, name: str, content: Any) -> str:
        seen.append(("store", connection.in_atomic_block))
        return save(self, name, content)

    monkeypatch.setattr(uploads, "inspect_apart", inspect)
    monkeypatch.setattr(LocalStorage, "_save", store)
    submission_create(agent=create(alice, environment).agent, archive=archive(f"# 2\n{FIRST}"))
    assert seen == [("inspect", False), ("store", False)] * 2


@on_a_real_database
def test_anonymous_clients_are_stored_side_by_side(
    settings: Settings, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.QUOTAS_ANONYMOUS = {"uploads_per_day": 3, "storage_bytes": 10**9}
    anonymous = anonymous_ensure()
    # None of them is stored before all of them are about to be.
    together = threading.Barrier(5, timeout=30)
    save = LocalStorage._save

    def store(self: LocalStorage, name: str, content: Any) -> str:
        together.wait()
        return save(self, name, content)

    def client(number: int) -> Callable[[], str]:
        def run() -> str:
            digest = address_digest(f"192.0.2.{number}", now=timezone.now())
            file = archive(f"# {number}\n{FIRST}")
            try:
                create(anonymous, environment, file, name=f"agent-{number}", address_digest=digest)
            except QuotaExceeded as refusal:
                return refusal.code
            return "uploaded"

        return run

    monkeypatch.setattr(uploads, "inspect_apart", lambda *_, **__: True)
    monkeypatch.setattr(LocalStorage, "_save", store)
    said = at_once(*(client(number) for number in range(5)))
    # And the quota of all of them together is exact nevertheless.
    assert sorted(said) == ["quota_uploads_per_day"] * 2 + ["uploaded"] * 3


@pytest.mark.django_db
def test_an_upload_is_stored_by_renaming_its_file(settings: Settings, alice: User, environment: Environment) -> None:
    file = incoming(FIRST)
    inode = Path(file.temporary_file_path()).stat().st_ino
    submission = create(alice, environment, file)
    assert Path(submission.archive.path).stat().st_ino == inode
    file.close()
    assert Path(submission.archive.path).is_file()
    assert not list(incoming_folder().iterdir())


def test_what_a_killed_process_left_of_an_upload_goes_after_a_day(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    assert incoming_sweep() == 0
    file = incoming(FIRST)
    left = Path(file.temporary_file_path())
    assert (incoming_sweep(), left.exists()) == (0, True)
    assert (incoming_sweep(now=left.stat().st_mtime + 90_000), left.exists()) == (1, False)
    file.close()


# --- Inspected at once, or by the build -------------------------------------------------------------------


@pytest.mark.django_db
def test_a_player_that_does_not_compile_is_refused_at_once(alice: User, environment: Environment) -> None:
    with pytest.raises(Refused) as refusal:
        create(alice, environment, archive(BROKEN))
    assert (str(refusal.value), refusal.value.code) == (SAID, "does_not_compile")
    assert not Submission.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("why", ["all processes are busy", "the sender has one already", "it takes too long"])
def test_what_cannot_be_inspected_now_is_taken_and_left_to_the_build(
    settings: Settings,
    alice: User,
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    why: str,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(inspection, "PATIENCE_SECONDS", 0.0)
    held: list[Any] = []
    match why:
        case "all processes are busy":
            folder = inspection._locks()
            names = inspection._names("process", inspection.PROCESSES, str(settings.DATA_DIR))
            held = [(folder / name).open("wb") for name in names]
        case "the sender has one already":
            monkeypatch.setattr(inspection, "SENDERS", 1)
            held = [(inspection._locks() / "sender-0").open("wb")]
        case _:
            monkeypatch.setattr(inspection, "MOST_SECONDS", 0.0)
    for lock in held:
        fcntl.flock(lock, fcntl.LOCK_EX)
    said: list[str] = []

    assert create(alice, environment, archive(BROKEN), tell=said.append).number == 1

    assert said == [uploads.LATER]
    for lock in held:
        lock.close()


def damaged() -> bytes:
    """A zip whose player.py does not have the checksum that it announces."""
    data = archive(FIRST).read()
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        checksum = file.getinfo("player.py").CRC.to_bytes(4, "little")
    return bytes(data.replace(checksum, b"\0\0\0\0"))


@pytest.mark.django_db
def test_what_only_unpacking_shows_is_taken_and_refused_by_the_first_step_of_the_build(
    alice: User, environment: Environment, tmp_path: Path
) -> None:
    submission = create(alice, environment, SimpleUploadedFile("agent.zip", damaged()))
    assert submission.builds.get().state == JobState.QUEUED
    with pytest.raises(BuildFailed) as failure, submission.archive.open("rb") as file:
        unpack(file, tmp_path, (), log=lambda _: None)
    assert failure.value.code == "damaged_zip"


@pytest.mark.slow
def test_a_second_inspection_of_a_sender_waits_for_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    at_work, most = 0, 0
    guard = threading.Lock()
    inspect = inspection._inspect

    def counted(file: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal at_work, most
        with guard:
            at_work += 1
            most = max(most, at_work)
        try:
            return inspect(file, *arguments, **named)
        finally:
            with guard:
                at_work -= 1

    monkeypatch.setattr(inspection, "_inspect", counted)
    monkeypatch.setattr(inspection, "PATIENCE_SECONDS", 60.0)
    data = archive(FIRST).read()

    def upload(sender: str) -> bool:
        return inspection.inspect_apart(io.BytesIO(data), sender=sender)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(upload, ["anna", "anna", "berta", "clara"])) == [True] * 4
    assert most <= inspection.PROCESSES
