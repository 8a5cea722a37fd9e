"""The verdict on an archive, without an upload. The inspection runs in a process of its own and runs nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db.models import Q

from arena_kit.upload.findings import Findings
from core.courses.sight import seen
from core.duels.run_requests import UNKNOWN
from core.errors import Refused
from core.models import Environment, User
from core.submissions.findings import Unfinished, upload_findings
from core.submissions.trials import trial_start
from executor.statuses import CallEnded, Code, unavailable

ARCHIVE_BYTES = 50 * 1024 * 1024


class Arriving:
    """An archive that arrives in parts, in a temporary file."""

    def __init__(self) -> None:
        self._file = TemporaryUploadedFile("agent.zip", "application/zip", 0, None)

    def write(self, chunk: bytes) -> None:
        """Add a part. Raises CallEnded for more than ARCHIVE_BYTES."""
        self._file.size = (self._file.size or 0) + len(chunk)
        if self._file.size > ARCHIVE_BYTES:
            raise CallEnded(
                Code.INVALID_ARGUMENT, f"An archive has at most {ARCHIVE_BYTES // 2**20} MiB.", field="code_zip"
            )
        self._file.write(chunk)

    def findings(self, environment: Environment, caller: User) -> Findings:
        """Return the verdict. Raises CallEnded."""
        self._file.seek(0)
        try:
            return upload_findings(archive=self._file, environment=environment, owner=caller)
        except Unfinished as busy:
            raise unavailable(str(busy)) from None

    def start_trial(self, environment: Environment, caller: User) -> int:
        """Put the archive in line for self-play; return the number of its version. Raises Refused."""
        self._file.seek(0)
        return trial_start(caller=caller, environment=environment, archive=self._file).pk

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def environment_row(name: str, caller: User) -> Environment:
    """Return an environment by slug or id, that the caller may see, even if it is closed. Raises Refused."""
    row = seen(Environment.objects.filter(Q(slug=name) | Q(env_id=name)), caller).first()
    if row is None:
        why = "There is no such environment; /api/v1/environments/ lists them."
        raise Refused(why, field="environment", code=UNKNOWN)
    return row


@contextmanager
def arriving() -> Iterator[Arriving]:
    """Hold an archive for the time of a call."""
    archive = Arriving()
    try:
        yield archive
    finally:
        archive.close()
