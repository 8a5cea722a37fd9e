"""Uploads on their way in: bounded while they arrive, before any form or view sees them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler


class BoundedUploadHandler(TemporaryFileUploadHandler):
    """Writes files to disk until a request has sent what it may; the rest is read past and dropped.

    Reading on, instead of hanging up, lets the form answer with a sentence: it gets an empty file that tells
    the size sent. People who are not logged in may send no files at all.
    """

    _left_bytes: int | None = None
    _is_over = False

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self._left_bytes is None:
            user = getattr(self.request, "user", None)
            self._left_bytes = settings.MAX_UPLOAD_BYTES if user is not None and user.is_authenticated else 0
        self._is_over = False

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self._left_bytes is not None
        self._left_bytes -= len(raw_data)
        if self._left_bytes < 0 and not self._is_over:
            self._is_over = True
            self.file.close()
        if not self._is_over:
            super().receive_data_chunk(raw_data, start)

    def file_complete(self, file_size: int) -> UploadedFile[bytes] | None:
        if not self._is_over:
            return super().file_complete(file_size)
        file = SimpleUploadedFile(self.file_name or "upload", b"", self.content_type or "")
        # Above any limit, also when the first of several files was small.
        file.size = max(file_size, settings.MAX_UPLOAD_BYTES + 1)
        return file

    def upload_interrupted(self) -> None:
        if not self._is_over:
            super().upload_interrupted()
