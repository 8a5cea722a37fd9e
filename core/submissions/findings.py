"""The findings about an archive without an upload: nothing is stored, and no quota is used."""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from arena_kit.upload.findings import Finding, Findings
from arena_kit.upload.inspection import Obstacle, findings_apart
from core.errors import Refused
from core.models import Environment, User
from core.submissions.uploads import upload_look

OBSTACLES = {
    Obstacle.SENDER_BUSY: (2, "Another archive of yours is being inspected. Ask for one verdict at a time."),
    Obstacle.ARENA_BUSY: (10, "The arena is busy inspecting other archives. Try again in a moment."),
    Obstacle.UNFINISHED: (
        60,
        "These files take too long to inspect now. Try again in a minute, or upload them: the build inspects them.",
    ),
}
"""By obstacle: seconds until it is worth asking again, and a sentence for a person."""


class Unfinished(Exception):
    """The arena cannot finish an inspection now. The message is a sentence for a person.

    retry_after_seconds: when it is worth asking again.
    """

    def __init__(self, obstacle: Obstacle) -> None:
        self.retry_after_seconds, sentence = OBSTACLES[obstacle]
        super().__init__(sentence)


def upload_findings(*, archive: UploadedFile[bytes], environment: Environment, owner: User) -> Findings:
    """Return everything that is found in an archive for an environment. Raises Unfinished."""
    try:
        upload = upload_look(archive=archive, environment=environment)
    except Refused as refusal:
        return Findings((Finding(refusal.code, str(refusal)),))
    found = findings_apart(
        cast(BinaryIO, upload.file.file),
        sender=str(owner.pk),
        arena=str(settings.DATA_DIR),
        pythons=tuple(settings.PLAYER_BASE_IMAGES),
        waits=True,
        refuses=settings.UPLOAD_REFUSES,
    )
    if isinstance(found, Obstacle):
        raise Unfinished(found)
    left_out = tuple(Finding("files", note) for note in upload.notes)
    return replace(found, warnings=(*left_out, *found.warnings))
