"""The local file store."""

from __future__ import annotations

import contextlib
import time
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, default_storage

ABANDONED_SECONDS = 24 * 3600.0
"""Age at which an unstored upload counts as abandoned by its process."""


def incoming_folder() -> Path:
    """Return the folder of uploads that are not stored yet: on the store's file system, and never served."""
    return Path(settings.MEDIA_ROOT) / "incoming"


def incoming_sweep(*, now: float | None = None) -> int:
    """Delete uploads whose process was killed; return how many. now: seconds since the epoch."""
    before = (time.time() if now is None else now) - ABANDONED_SECONDS
    count = 0
    for path in incoming_folder().glob("*.upload"):
        # Its request may have ended and removed it.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()
                count += 1
    return count


def may_be_stored(name: str) -> bool:
    """Return whether the store has a file, or does not answer: reading or deleting it reports what is wrong."""
    try:
        return bool(default_storage.exists(name))
    # Each store raises its own errors.
    except Exception:
        return True


class LocalStorage(FileSystemStorage):
    """A folder of this machine. A file that does not fit on the disk is deleted completely."""

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        """Return folders and files; both empty for a folder that is not there."""
        try:
            return super().listdir(path)
        except FileNotFoundError:
            return [], []

    def files_before(self, folder: str, moment: datetime) -> list[str]:
        """Return the names of files of a folder that were stored before a moment."""
        names = []
        for name in (f"{folder}/{filename}" for filename in self.listdir(folder)[1]):
            # A deletion may have come first.
            with contextlib.suppress(FileNotFoundError):
                if self.get_modified_time(name) < moment:
                    names.append(name)
        return names

    def _save(self, name: str, content: File[bytes]) -> str:
        try:
            saved: str = super()._save(name, content)  # type: ignore[misc]  # the stubs leave it out
            return saved
        except OSError:
            with contextlib.suppress(OSError):
                self.delete(name)
            raise
