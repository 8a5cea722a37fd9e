"""Files of jobs: stored first, then named in the row in the transaction that writes the result."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import SpooledTemporaryFile

from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error
from django.db.models import FileField, Q
from django.db.models.functions import Now

from arena_kit.environment.episodes import EvaluationRecord, evaluation_sha256, write_evaluation
from arena_kit.environment.record_archive import write_duel
from arena_kit.environment.records import DuelRecord, record_sha256
from core.errors import StoreFailed, means_full_disk
from core.jobs.kinds import JOB_MODELS
from core.models import Build, Evaluation, Job, JobFault, JobState, PlayedJob, Validation
from core.models.job import artifact_name

logger = logging.getLogger(__name__)
PROBE_BYTES = 1 << 20
SWEEP_WINDOW = timedelta(days=1)
"""The sweep ignores jobs that ended longer ago: it has already examined them many times."""


@dataclass(frozen=True, slots=True)
class DuelArtifacts:
    """Fields of a played job's row: storage names (empty without a file), and digests for a recheck."""

    matches_done: int
    records: str
    player_1_log: str
    player_2_log: str
    player_1_digest: str = ""
    player_2_digest: str = ""
    record_sha256: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationArtifacts:
    """Fields of an evaluation's row: storage names (empty without a file), and digests for a recheck."""

    records: str = ""
    player_log: str = ""
    player_digest: str = ""
    record_sha256: str = ""


@contextlib.contextmanager
def evaluation_stored(
    *, job: Evaluation | Validation, record: EvaluationRecord | None, player_log: str, digest: str
) -> Iterator[EvaluationArtifacts]:
    """Like `artifacts_stored`, for episodes. record: None for a script. digest: content id of the image that played."""
    with _storing(job) as store:
        records = "" if record is None else _store_records(store, record)
        log = store("player.log", ContentFile(player_log.encode("utf-8", "replace"))) if player_log else ""
        yield EvaluationArtifacts(records, log, digest, "" if record is None else evaluation_sha256(record))


@contextlib.contextmanager
def files_stored(*, job: Job, files: Mapping[str, Path]) -> Iterator[dict[str, str]]:
    """Like `artifacts_stored`, for files by field of the row; yields their storage names."""
    with _storing(job) as store:
        names = {}
        for field, path in files.items():
            with path.open("rb") as file:
                names[field] = store(path.name, File(file))
        yield names


@contextlib.contextmanager
def artifacts_stored(
    *, job: PlayedJob, record: DuelRecord, player_logs: tuple[str, str], digests: tuple[str, str]
) -> Iterator[DuelArtifacts]:
    """Write the artifacts of a played job, outside of any transaction, under names unique to this claim.

    The block names them in the job's row; if it fails, they are deleted. digests: content ids of the images that
    played.
    """
    with _storing(job) as store:
        records = _store_records(store, record)
        logs = [
            store(f"player_{player}.log", ContentFile(text.encode("utf-8", "replace"))) if text else ""
            for player, text in enumerate(player_logs, start=1)
        ]
        yield DuelArtifacts(len(record.matches), records, logs[0], logs[1], *digests, record_sha256(record))


@contextlib.contextmanager
def sbom_stored(*, build: Build, document: bytes) -> Iterator[str]:
    """Like `artifacts_stored`, for a build's bill of materials; yields its name, empty without a document."""
    with _storing(build) as store:
        yield store("sbom.json", ContentFile(document)) if document else ""


@contextlib.contextmanager
def _storing(job: Job) -> Iterator[Callable[[str, File[bytes]], str]]:
    """Yield a function that stores a file under a name unique to this claim; if the block fails, delete unnamed files.

    Raises StoreFailed when the store accepts no file.
    """
    stored: list[str] = []

    def store(filename: str, content: File[bytes]) -> str:
        try:
            stored.append(default_storage.save(artifact_name(job, filename), content))
        except OSError as error:
            raise _store_failed(error) from error
        return stored[-1]

    try:
        yield store
    except BaseException:
        # A cut connection can raise here after the commit: then the row names the files, and they stay.
        # If the database or the store does not answer, the sweep deletes them later.
        with contextlib.suppress(Error, OSError):
            for name in set(stored) - _named(job):
                default_storage.delete(name)
        raise


def _named(job: Job) -> set[str]:
    """Return the files that a job's row names."""
    fields = [field.name for field in job._meta.concrete_fields if isinstance(field, FileField)]
    return set(type(job)._base_manager.filter(pk=job.pk).values_list(*fields).first() or ())


def _store_failed(error: OSError) -> StoreFailed:
    if means_full_disk(error):
        return StoreFailed("The artifact store is full.", code="store_full")
    return StoreFailed(f"The artifact store cannot be written to: {error.strerror or error}.", code="store_failed")


def store_is_down() -> bool:
    """Return whether the store rejects a test file of PROBE_BYTES."""
    name = f"probes/{uuid.uuid4()}"
    try:
        name = default_storage.save(name, ContentFile(bytes(PROBE_BYTES)))
    except OSError:
        return True
    finally:
        with contextlib.suppress(OSError):
            default_storage.delete(name)
    return False


def artifacts_sweep() -> int:
    """Delete the files of claims without a result, e.g. of killed workers; return how many.

    Only jobs that were claimed before, or that ended without a result, can have such files. A worker whose result is
    refused gets the length of a lease to delete its own files.
    """
    count = 0
    # By the history: the attempt count leaves out attempts that were given back and restarts when requeued.
    tried = ~Q(history=[]) | Q(fault=JobFault.PLATFORM) | Q(state=JobState.CANCELLED)
    for model in JOB_MODELS.values():
        if not any(isinstance(field, FileField) for field in model._meta.concrete_fields):
            continue
        ended = Q(ended_at__gt=Now() - SWEEP_WINDOW, ended_at__lt=Now() - timedelta(seconds=settings.JOB_LEASE_SECONDS))
        for job in model._base_manager.filter(tried & ended):
            with contextlib.suppress(OSError):
                count += _sweep(job)
    return count


def _sweep(job: Job) -> int:
    """Delete the files in a job's folder that its row does not name."""
    folder, count = f"{job.KIND}s/{job.pk}", 0
    for claim in default_storage.listdir(folder)[0]:
        names = {f"{folder}/{claim}/{name}" for name in default_storage.listdir(f"{folder}/{claim}")[1]}
        unnamed = names - _named(job)
        for name in unnamed:
            default_storage.delete(name)
        if unnamed == names:
            default_storage.delete(f"{folder}/{claim}")
        if unnamed:
            logger.info("Deleted %s files of a claim of %s %s without a result.", len(unnamed), job.KIND, job.pk)
        count += len(unnamed)
    return count


def _store_records(store: Callable[[str, File[bytes]], str], record: DuelRecord | EvaluationRecord) -> str:
    with SpooledTemporaryFile(max_size=1 << 20) as file:
        if isinstance(record, DuelRecord):
            write_duel(record, file)
        else:
            write_evaluation(record, file)
        file.seek(0)
        return store("records.zip", File(file))
