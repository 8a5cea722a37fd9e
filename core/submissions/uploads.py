"""Uploads: checked, given a place in the quota, inspected, stored.

Only `upload_reserve` and `reservation_use` run in a transaction, so a slow upload does not delay other people.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any, BinaryIO, TypeVar, cast

from django.conf import settings
from django.core.cache import cache
from django.core.files.uploadedfile import UploadedFile
from django.db import DatabaseError, Error
from django.utils import timezone

from arena_kit.upload.admission import contents_admit
from arena_kit.upload.archive import read_text
from arena_kit.upload.image_reference import IMAGE_ENTRY_POINT, check_allowed, read_reference
from arena_kit.upload.inspection import inspect_apart
from arena_kit.upload.zip_safety import ArchiveRefused
from core.errors import QuotaExceeded, Refused
from core.models import Environment, Submission, SubmissionForm, UploadReservation, User
from core.models.agent import ARCHIVES, archive_name
from core.people.quotas import quota_check

logger = logging.getLogger(__name__)
Made = TypeVar("Made")

RESERVED = timedelta(minutes=5)
"""How long a reservation counts after its process was killed; inspecting and storing take seconds."""
TWIN_SECONDS = 15.0
"""How long an upload waits for the same archive of the same person when the quota has no place for both."""
UNNAMED = timedelta(days=30)
"""The age up to which an archive without a row is kept: a newer backup that names it may still be restored."""
SWEPT_AT_ONCE = 500
"""The archives that one query looks for."""
LATER = "Your files are inspected when the build begins, because the arena is busy inspecting other uploads."


@dataclass(frozen=True, slots=True)
class Upload:
    """An archive whose table of contents is accepted by an environment. Its content is not inspected yet."""

    file: UploadedFile[bytes]
    sha256: str
    form: SubmissionForm
    size: int


def upload_look(*, archive: UploadedFile[bytes], environment: Environment, is_script: bool = False) -> Upload:
    """Check an archive's table of contents, which is cheap. Raises Refused for an archive that is not allowed."""
    try:
        report = contents_admit(
            cast(BinaryIO, archive.file),
            environment=str(environment),
            takes_scripts=environment.takes_scripts,
            takes_players=environment.takes_players,
            is_script=is_script,
            takes_images=bool(settings.IMAGE_REGISTRIES) and not environment.is_app,
        )
        if report.is_image and not is_script:
            file = cast(BinaryIO, archive.file)
            check_allowed(read_reference(read_text(file, IMAGE_ENTRY_POINT)), settings.IMAGE_REGISTRIES)
    except ArchiveRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None
    form = SubmissionForm.IMAGE if report.is_image else SubmissionForm.PLAYER
    form = SubmissionForm.SCRIPT if is_script or report.is_script else form
    return Upload(archive, archive_sha256(archive), form, archive.size or 0)


def archive_sha256(archive: UploadedFile[bytes]) -> str:
    archive.seek(0)
    return hashlib.file_digest(cast(BytesIO, archive.file), "sha256").hexdigest()


def upload_reserve(
    *, owner: User, environment: Environment, upload: Upload, makes_agent: bool, address_digest: str = ""
) -> UploadReservation:
    """Take a place in the quota for an upload; the owner is locked by `upload_lock`. Raises QuotaExceeded."""
    now = timezone.now()
    quota_check(
        owner=owner,
        environment=environment,
        archive_bytes=upload.size,
        makes_agent=makes_agent,
        address_digest=address_digest,
        now=now,
    )
    return UploadReservation.objects.create(
        owner=owner,
        environment=environment,
        address_digest=address_digest,
        archive_sha256=upload.sha256,
        archive_bytes=upload.size,
        makes_agent=makes_agent,
        expires_at=now + RESERVED,
    )


def once_there_is_room(admit: Callable[[], Made], *, owner: User, environment: Environment, upload: Upload) -> Made:
    """Return the result of `admit`; if the quota is used up, wait for an upload of the same archive and try again.

    So a form that was sent twice is one submission, even if the quota has a single place. Only one request of an owner
    waits at a time, because each waiting request occupies a thread of the site. Raises QuotaExceeded.
    """
    same = UploadReservation.objects.filter(owner=owner, environment=environment, archive_sha256=upload.sha256)
    waiting = f"upload-twin:{owner.pk}"
    until = time.monotonic() + TWIN_SECONDS
    is_waiting = was_alone = False
    try:
        while True:
            try:
                return admit()
            except QuotaExceeded:
                # Asked twice, because the other upload may have finished between the two queries.
                if was_alone or time.monotonic() > until:
                    raise
                was_alone = not same.filter(expires_at__gt=timezone.now()).exists()
                if not was_alone and not is_waiting:
                    is_waiting = cache.add(waiting, True, TWIN_SECONDS)
                    if not is_waiting:
                        raise
            if not was_alone:
                time.sleep(0.2)
    finally:
        if is_waiting:
            cache.delete(waiting)


@contextmanager
def reservation_held(reservation: UploadReservation) -> Iterator[None]:
    """Release the place at the end, whatever the outcome: by then a submission counts for itself."""
    try:
        yield
    finally:
        try:
            UploadReservation.objects.filter(pk=reservation.pk).delete()
            UploadReservation.objects.filter(expires_at__lt=timezone.now()).delete()
        except DatabaseError as error:
            # It expires anyway.
            logger.warning("%s could not be given back: %s", reservation, error)


def reservation_use(*, reservation: UploadReservation, owner: User, environment: Environment, upload: Upload) -> None:
    """Turn a place into a submission; call it in the transaction that creates it. Raises QuotaExceeded.

    An expired reservation is checked against the quota again, with the owner locked by `upload_lock`.
    """
    now = timezone.now()
    count, _ = UploadReservation.objects.filter(pk=reservation.pk, expires_at__gt=now).delete()
    if not count:
        quota_check(
            owner=owner,
            environment=environment,
            archive_bytes=upload.size,
            makes_agent=reservation.makes_agent,
            address_digest=reservation.address_digest,
            now=now,
        )


def upload_inspect(*, upload: Upload, sender: str, tell: Callable[[str], None]) -> None:
    """Decompress and compile an archive in its own process, unless too many are running. Raises Refused.

    If it is not done here, `tell` gets a sentence, and the build does it first and refuses in the same words.
    """
    try:
        if not inspect_apart(
            cast(BinaryIO, upload.file.file),
            sender=sender,
            arena=str(settings.DATA_DIR),
            pythons=tuple(settings.PLAYER_BASE_IMAGES),
        ):
            tell(LATER)
    except ArchiveRefused as refusal:
        raise Refused(str(refusal), field="archive", code=refusal.code) from None


@dataclass(slots=True)
class Stored:
    """A stored file that belongs to no row yet."""

    name: str
    is_kept: bool = False


@contextmanager
def archive_stored(upload: Upload) -> Iterator[Stored]:
    """Store an archive, by renaming if it is on the same file system; delete it again unless a row names it."""
    storage = Submission._meta.get_field("archive").storage
    upload.file.seek(0)
    stored = Stored(storage.save(archive_name(None, ""), upload.file))
    try:
        yield stored
    finally:
        # A cut connection can raise after the commit: then a row names the file, and it stays. If the database does not
        # answer, `archives_sweep` decides later.
        with suppress(Error):
            if not stored.is_kept and not Submission.objects.filter(archive=stored.name).exists():
                storage.delete(stored.name)


def archives_sweep(*, now: datetime) -> int:
    """Delete archives that no row names, e.g. of a killed process, if they are older than UNNAMED; return how many."""
    storage: Any = Submission._meta.get_field("archive").storage
    old, count = storage.files_before(ARCHIVES, now - UNNAMED), 0
    for start in range(0, len(old), SWEPT_AT_ONCE):
        names = old[start : start + SWEPT_AT_ONCE]
        for name in set(names) - set(Submission.objects.filter(archive__in=names).values_list("archive", flat=True)):
            storage.delete(name)
            count += 1
    return count


def archive_restore(*, submission: Submission, upload: Upload) -> None:
    """Store an archive again under its submission's name if the store has lost it."""
    storage, name = submission.archive.storage, str(submission.archive.name)
    if not storage.exists(name):
        upload.file.seek(0)
        storage.save(name, upload.file)
