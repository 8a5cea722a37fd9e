"""What an upload would be refused for, without an upload: nothing is stored, and no quota is used."""

from __future__ import annotations

from typing import BinaryIO, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from arena_kit.upload.findings import Finding, Findings
from arena_kit.upload.inspection import findings_apart
from core.errors import Refused
from core.models import Environment, User
from core.submissions.uploads import upload_look


class Unfinished(Exception):
    """The arena cannot finish an inspection now. The message is a sentence for a person."""


def upload_findings(*, archive: UploadedFile[bytes], environment: Environment, owner: User) -> Findings:
    """Return everything that is found in an archive for an environment. Raises Unfinished."""
    try:
        upload = upload_look(archive=archive, environment=environment)
    except Refused as refusal:
        return Findings((Finding(refusal.code, str(refusal)),))
    found = findings_apart(
        cast(BinaryIO, upload.file.file), sender=str(owner.pk), pythons=tuple(settings.PLAYER_BASE_IMAGES)
    )
    if found is None:
        raise Unfinished("The arena is busy, or these files take too long to inspect. Try again in a minute.")
    return found
