"""Uploads: checked and stored before the transaction that makes rows of them, so a slow one delays no other person."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, TypeVar, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from arena_kit.upload.admission import contents_admit
from arena_kit.upload.archive import read_text
from arena_kit.upload.image_reference import IMAGE_ENTRY_POINT, check_allowed, read_reference
from arena_kit.upload.inspection import inspect_apart
from arena_kit.upload.kinds import notes_left_out
from arena_kit.upload.repacking import archive_plain
from arena_kit.upload.zip_safety import ArchiveRefused, printable
from core.errors import Refused
from core.files.uploads import Stored, upload_stored
from core.models import Environment, Submission, SubmissionForm

logger = logging.getLogger(__name__)
Made = TypeVar("Made")

BUSY = "The arena is busy with other uploads, or these files take too long to read. Upload them again in a minute."
LATER = "Your Python files are compiled when the build begins, because the arena is busy with other uploads."


@dataclass(frozen=True, slots=True)
class Upload:
    """An archive whose table of contents is accepted by an environment. The build looks into its files."""

    file: UploadedFile[bytes]
    sha256: str
    form: SubmissionForm
    size: int
    image_name: str = ""
    """The uploader's name of the image, where one is submitted."""
    notes: tuple[str, ...] = ()
    """Sentences about files that the uploader sent and that are not stored."""


def upload_look(*, archive: UploadedFile[bytes], environment: Environment, is_script: bool = False) -> Upload:
    """Check an archive's table of contents, which is cheap. Raises Refused for an archive that is not allowed."""
    try:
        report = contents_admit(
            cast(BinaryIO, archive.file),
            environment=str(environment),
            takes_scripts=environment.runs_scripts,
            takes_players=environment.takes_players,
            is_script=is_script,
            takes_images=bool(settings.IMAGE_REGISTRIES) and not environment.is_app,
        )
        image_name = ""
        if report.is_image and not is_script:
            image_name = read_text(cast(BinaryIO, archive.file), IMAGE_ENTRY_POINT).strip()
            check_allowed(read_reference(image_name), settings.IMAGE_REGISTRIES)
        upload_clean(archive)
    except ArchiveRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None
    form = SubmissionForm.IMAGE if report.is_image else SubmissionForm.PLAYER
    form = SubmissionForm.SCRIPT if is_script or report.is_script else form
    notes = tuple(notes_left_out(printable(name) for name in report.left_out))
    return Upload(archive, archive_sha256(archive), form, archive.size or 0, image_name, notes)


def upload_clean(archive: UploadedFile[bytes]) -> None:
    """Take the files out of an archive that are not for other people, such as hidden ones. Raises ArchiveRefused."""
    file = cast(BinaryIO, archive.file)
    made = archive_plain(file)
    if made is not None:
        with made:
            file.seek(0)
            file.truncate()
            shutil.copyfileobj(made, file)
        archive.size = file.tell()


def archive_sha256(archive: UploadedFile[bytes]) -> str:
    archive.seek(0)
    return hashlib.file_digest(cast(BytesIO, archive.file), "sha256").hexdigest()


def upload_compile(*, upload: Upload, sender: str, tell: Callable[[str], None]) -> None:
    """Compile the Python files of an archive and read its requirements, in a process of its own. Raises Refused.

    `tell` gets sentences about what is left out, and one if too many of these are running: the build looks into the
    whole archive in any case, except for what UPLOAD_REFUSES names.
    """
    for note in upload.notes:
        tell(note)
    try:
        if not inspect_apart(
            cast(BinaryIO, upload.file.file),
            sender=sender,
            arena=str(settings.DATA_DIR),
            pythons=tuple(settings.PLAYER_BASE_IMAGES),
            is_whole=False,
            refuses=settings.UPLOAD_REFUSES,
        ):
            if settings.UPLOAD_REFUSES:
                # The build compiles the files, and does not look for what this site refuses.
                raise Refused(BUSY, field="archive", code="not_read")
            tell(LATER)
    except ArchiveRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None


def archive_stored(upload: Upload) -> AbstractContextManager[Stored]:
    """Store an archive; it is deleted again unless a row names it."""
    return upload_stored(Submission, upload.file)


def archive_restore(*, submission: Submission, upload: Upload) -> None:
    """Store an archive again under its submission's name if the store has lost it."""
    storage, name = submission.archive.storage, str(submission.archive.name)
    if not storage.exists(name):
        upload.file.seek(0)
        storage.save(name, upload.file)
