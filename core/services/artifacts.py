"""Files that jobs leave: stored first, named in the row in the same transaction as the result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile

from django.core.files import File
from django.core.files.base import ContentFile
from django.db import Error

from core.models import Build, PlayedJob
from core.models.job import artifact_name
from environments.archive_format import write_duel
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


@contextlib.contextmanager
def artifacts_stored(
    *, job: PlayedJob, record: DuelRecord, player_logs: tuple[str, str], digests: tuple[str, str]
) -> Iterator[DuelArtifacts]:
    """Write the artifacts of a played job, outside of any transaction, under names of this claim alone.

    The block names them in the job's row; when it fails to, they are deleted again. digests: content ids of the images
    that played.
    """
    stored: list[str] = []

    def store(filename: str, content: File[bytes]) -> str:
        stored.append(job.records.storage.save(artifact_name(job, filename), content))
        return stored[-1]

    try:
        with SpooledTemporaryFile(max_size=1 << 20) as file:
            write_duel(record, file)
            file.seek(0)
            records = store("records.zip", File(file))
        logs = [
            store(f"player_{player}.log", ContentFile(text.encode("utf-8", "replace"))) if text else ""
            for player, text in enumerate(player_logs, start=1)
        ]
        yield DuelArtifacts(len(record.matches), records, logs[0], logs[1], *digests, record_sha256(record))
    except BaseException:
        _delete_unless_named(job, stored)
        raise


def _delete_unless_named(job: PlayedJob, names: list[str]) -> None:
    # The block can also raise after its commit, when a message cannot be sent: then the files belong to the row. When
    # the database or the store cannot be asked they stay: a file without a row is harmless.
    with contextlib.suppress(Error, OSError):
        if not names or type(job)._default_manager.filter(pk=job.pk, records=names[0]).exists():
            return
        for name in names:
            job.records.storage.delete(name)


def sbom_store(*, build: Build, document: bytes) -> str:
    """Write the bill of materials of a build under a name of this claim alone; return its name."""
    return build.sbom.storage.save(artifact_name(build, "sbom.json"), ContentFile(document))
