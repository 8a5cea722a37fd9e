"""The upload handler, which limits uploads while they arrive, before any form or view sees them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile, UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from rest_framework.request import Request

from arena_kit.upload import admission
from core.errors import QuotaExceeded
from core.files.storage import incoming_folder
from core.models import Environment
from core.submissions.clients import client_environment
from web.site.requests import account_of, client_network
from web.site.throttling import EnvironmentThrottle

STRANGERS_MAY_UPLOAD = "strangers_may_upload"
"""Attribute of a request whose view accepts files from people who are not logged in."""


def allow_strangers(request: HttpRequest) -> None:
    """Accept files in this request without a login; call it before the body is read."""
    setattr(request, STRANGERS_MAY_UPLOAD, True)


def too_large(most_bytes: int | None = None) -> str:
    """Return the sentence for an upload above a limit, by default MAX_UPLOAD_BYTES."""
    return admission.too_large(settings.MAX_UPLOAD_BYTES if most_bytes is None else most_bytes)


def archive_upload(packed: IO[bytes], uploads: MultiValueDict[str, UploadedFile[bytes]]) -> UploadedFile[bytes]:
    """Wrap a zip that was packed here as an uploaded file; the request closes it with its other files."""
    size = packed.seek(0, os.SEEK_END)
    packed.seek(0)
    archive: UploadedFile[bytes] = UploadedFile(cast(Any, packed), "archive.zip", "application/zip", size)
    uploads.appendlist("packed", archive)
    return archive


class IncomingFile(TemporaryUploadedFile):
    """An uploaded file on the same disk as the store, so that storing it is a rename."""

    def __init__(self, name: str, content_type: str | None, charset: str | None, extra: Any) -> None:
        folder = incoming_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = tempfile.NamedTemporaryFile(suffix=".upload", dir=folder)  # noqa: SIM115  (the request closes it)
        UploadedFile.__init__(self, cast(Any, file), name, content_type, 0, charset, extra)


class BoundedUploadHandler(TemporaryFileUploadHandler):
    """A handler that writes files to disk up to the request's limit, and reads and drops the rest.

    Reading on, instead of closing the connection, lets the form answer with a sentence: it gets an empty file with the
    size that was sent. People who are not logged in may send files only if the view allows it.
    """

    _left_bytes: int | None = None
    _is_over = False

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super(TemporaryFileUploadHandler, self).new_file(*args, **kwargs)
        assert self.file_name is not None
        self.file = IncomingFile(self.file_name, self.content_type, self.charset, self.content_type_extra)
        if self._left_bytes is None:
            self._left_bytes = settings.MAX_UPLOAD_BYTES if self._may_upload() else 0
        self._is_over = False

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        assert self._left_bytes is not None
        self._left_bytes -= len(raw_data)
        if self._left_bytes < 0 and not self._is_over:
            self._is_over = True
            self.file.close()
        if not self._is_over:
            with self._removed_if_it_fails():
                super().receive_data_chunk(raw_data, start)

    def file_complete(self, file_size: int) -> UploadedFile[bytes] | None:
        if not self._is_over:
            with self._removed_if_it_fails():
                return super().file_complete(file_size)
        file = SimpleUploadedFile(self.file_name or "upload", b"", self.content_type or "")
        # Above every limit, even if the first of several files was small.
        file.size = max(file_size, settings.MAX_UPLOAD_BYTES + 1)
        return file

    @contextmanager
    def _removed_if_it_fails(self) -> Iterator[None]:
        """On a full disk the half of a file must not stay: it would take the room until it is swept a day later."""
        try:
            yield
        except OSError:
            with suppress(OSError):
                self.file.close()
            raise

    def _may_upload(self) -> bool:
        user = getattr(self.request, "user", None)
        is_known = user is not None and user.is_authenticated
        return is_known or getattr(self.request, STRANGERS_MAY_UPLOAD, False)

    def upload_interrupted(self) -> None:
        if not self._is_over:
            super().upload_interrupted()


def environment_first(
    request: HttpRequest | Request,
    *,
    env_id: str,
    archive: UploadedFile[bytes],
    is_script: bool = False,
    public_id: UUID | None = None,
) -> Environment:
    """Add the environment that a submission is the first for; arguments as for `client_submit`. Raises Refused."""
    throttle = EnvironmentThrottle()
    if not throttle.allow(request):
        seconds = throttle.seconds_left()
        raise QuotaExceeded(throttle.sentence, code="too_many_requests", retry_after_seconds=seconds)
    return client_environment(
        owner=account_of(request),
        env_id=env_id,
        archive=archive,
        public_id=public_id,
        is_script=is_script,
        address=client_network(request) or "",
    )
