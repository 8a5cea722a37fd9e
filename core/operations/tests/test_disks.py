"""The alarm about the disk of the arena's files, on the disk that is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core.models import Alarm
from core.operations.disks import ALARM, NOTICE_UPLOADS, disk_check

pytestmark = pytest.mark.django_db


def test_an_alarm_rings_while_there_is_room_for_few_uploads_and_settles_with_room(
    settings: Settings, tmp_path: Path
) -> None:
    # Not made yet, as on a new arena.
    settings.MEDIA_ROOT = tmp_path / "files"
    free = shutil.disk_usage(tmp_path).free
    settings.MAX_UPLOAD_BYTES = free // NOTICE_UPLOADS // 2
    disk_check()
    assert not Alarm.objects.exists()

    settings.MAX_UPLOAD_BYTES = free
    disk_check()
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.settled_at) == (ALARM, None)
    assert "MiB left" in alarm.message

    settings.MAX_UPLOAD_BYTES = free // NOTICE_UPLOADS // 2
    disk_check()
    alarm.refresh_from_db()
    assert alarm.settled_at is not None
