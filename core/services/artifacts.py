"""Files that jobs leave: stored first, named in the row in the same transaction as the result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile

from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error
from django.db.models import FileField

from core.models import Build, Evaluation, Job, PlayedJob, Recording, Validation
from core.models.job import artifact_name
from environments.archive_format import write_duel
from environments.episodes import EvaluationRecord, evaluation_sha256, write_evaluation
from environments.records import DuelRecord, record_sha256


@dataclass(frozen=True, slots=True)
class DuelArtifacts:
    """Fields of a played job's row: storage names, empty where there is nothing, and what its play is checked by."""

    matches_done: int
    records: str
    player_1_log: str
    player_2_log: str
    player_1_digest: str = ""
    player_2_digest: str = ""
    record_sha256: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationArtifacts:
    """Fields of an evaluation's row: storage names, empty where there is nothing, and what its play is checked by."""

    records: str = ""
    player_log: str = ""
    player_digest: str = ""
    record_sha256: str = ""


@contextlib.contextmanager
def evaluation_stored(
    *, job: Evaluation | Validation, record: EvaluationRecord | None, player_log: str, digest: str
) -> Iterator[EvaluationArtifacts]:
    """As `artifacts_stored`, for episodes. record: None for a script. digest: content id of the image that played."""
    with _storing(job) as store:
        records = "" if record is None else _store_records(store, record)
        log = store("player.log", ContentFile(player_log.encode("utf-8", "replace"))) if player_log else ""
        yield EvaluationArtifacts(records, log, digest, "" if record is None else evaluation_sha256(record))


@contextlib.contextmanager
def recording_stored(*, recording: Recording, files: Mapping[str, Path]) -> Iterator[dict[str, str]]:
    """As `artifacts_stored`, for a drawn episode. files: by field of its row; yields their names in the store."""
    with _storing(recording) as store:
        names = {}
        for field, path in files.items():
            with path.open("rb") as file:
                names[field] = store(path.name, File(file))
        yield names


@contextlib.contextmanager
def artifacts_stored(
    *, job: PlayedJob, record: DuelRecord, player_logs: tuple[str, str], digests: tuple[str, str]
) -> Iterator[DuelArtifacts]:
    """Write the artifacts of a played job, outside of any transaction, under names of this claim alone.

    The block names them in the job's row; when it fails to, they are deleted again. digests: content ids of the images
    that played.
    """
    with _storing(job) as store:
        records = _store_records(store, record)
        logs = [
            store(f"player_{player}.log", ContentFile(text.encode("utf-8", "replace"))) if text else ""
            for player, text in enumerate(player_logs, start=1)
        ]
        yield DuelArtifacts(len(record.matches), records, logs[0], logs[1], *digests, record_sha256(record))


@contextlib.contextmanager
def _storing(job: Job) -> Iterator[Callable[[str, File[bytes]], str]]:
    """What stores a file under a name of this claim alone; if the block fails, files go that no row names."""
    stored: list[str] = []

    def store(filename: str, content: File[bytes]) -> str:
        stored.append(default_storage.save(artifact_name(job, filename), content))
        return stored[-1]

    try:
        yield store
    except BaseException:
        # The block can also raise after its commit, when a message cannot be sent: then the files belong to the row.
        # When the database or the store cannot be asked they stay: a file without a row is harmless.
        with contextlib.suppress(Error, OSError):
            fields = [field.name for field in job._meta.concrete_fields if isinstance(field, FileField)]
            named = type(job)._default_manager.filter(pk=job.pk).values_list(*fields).first() or ()
            for name in set(stored) - set(named):
                default_storage.delete(name)
        raise


def _store_records(store: Callable[[str, File[bytes]], str], record: DuelRecord | EvaluationRecord) -> str:
    with SpooledTemporaryFile(max_size=1 << 20) as file:
        if isinstance(record, DuelRecord):
            write_duel(record, file)
        else:
            write_evaluation(record, file)
        file.seek(0)
        return store("records.zip", File(file))


def sbom_store(*, build: Build, document: bytes) -> str:
    """Write the bill of materials of a build under a name of this claim alone; return its name."""
    return build.sbom.storage.save(artifact_name(build, "sbom.json"), ContentFile(document))
