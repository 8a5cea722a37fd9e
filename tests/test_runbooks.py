"""The runbooks of docs/operator/runbooks.md, followed after what they are about has really happened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from core.jobs import worker
from core.models import Agent, Alarm, Duel, Environment, JobState, UploadReservation, User, Validation
from core.operations.disks import disk_watch
from core.operations.health import health_components
from core.tests.working import run
from tests.samples import FIRST, LAST, archive, deliver_messages, tic_tac_toe, upload
from tests.season.services import Store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly, pytest.mark.slow]
DISK_BYTES, LARGEST_UPLOAD_BYTES = 32 << 20, 1 << 20


@pytest.fixture
def disk(settings: Settings, tmp_path: Path) -> Iterator[Store]:
    """The folder of the files, on a small file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("a file system of its own takes root")
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    settings.MEDIA_ROOT, settings.MAX_UPLOAD_BYTES = tmp_path / "files", LARGEST_UPLOAD_BYTES
    store = Store(tmp_path / "files", DISK_BYTES)
    try:
        yield store
    finally:
        store.end()


def sends(environment: Environment, name: str) -> tuple[HttpResponse, HttpResponse]:
    """A person uploads an agent on the page, and another one by the API, both after a log-in."""
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(username="first"))
    address = f"/environments/{environment.slug}/agents/"
    page = client.post(address, {"name": f"{name}-page", "archive": archive(LAST)})
    fields = {"environment": environment.slug, "name": f"{name}-api", "archive": archive(LAST)}
    return page, client.post("/api/v1/agents/", fields)


def parts() -> tuple[str, int]:
    """The part `storage` of /health, and how many alarms are open."""
    disk_watch()
    return health_components(now=timezone.now())["storage"], Alarm.objects.filter(settled_at=None).count()


def test_a_full_disk_loses_nothing_and_needs_only_room(disk: Store, settings: Settings) -> None:
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
    assert not UploadReservation.objects.exists()
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
