"""The local store of files."""

from __future__ import annotations

import contextlib

from django.core.files import File
from django.core.files.storage import FileSystemStorage


class LocalStorage(FileSystemStorage):
    """A folder of this machine. Of a file for which there is no room nothing is left."""

    def _save(self, name: str, content: File[bytes]) -> str:
        try:
            saved: str = super()._save(name, content)  # type: ignore[misc]  # the stubs leave it out
            return saved
        except OSError:
            with contextlib.suppress(OSError):
                self.delete(name)
            raise
