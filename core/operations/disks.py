"""The disk of the arena's files: an alarm before it is full, for arenas that nothing else watches."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage

from core.jobs.hosts import host_name
from core.notices.alarms import alarm_raise, alarm_settle

ALARM = "disk-nearly-full"
NOTICE_UPLOADS = 10
"""The alarm is raised while there is room for fewer uploads of the largest size than this."""
MIB = 1 << 20


def store_folder() -> Path | None:
    """Return the folder in which files are stored, or the one that it will be made in; None with an object store."""
    if not isinstance(default_storage, FileSystemStorage):
        return None
    folder = Path(default_storage.location)
    while not folder.exists():
        folder = folder.parent
    return folder


def disk_check(_: int | str = 0) -> None:
    """Look at the room for the arena's files, as this worker's host sees it, and raise or settle the alarm about it."""
    folder = store_folder()
    free = None if folder is None else shutil.disk_usage(folder).free
    if free is None or free >= NOTICE_UPLOADS * settings.MAX_UPLOAD_BYTES:
        alarm_settle(key=ALARM)
        return
    alarm_raise(
        key=ALARM,
        message=f"The disk of the arena's files has {free // MIB:,} MiB left, as {host_name()} sees it. "
        "Without room, uploads are refused and results wait.",
    )
