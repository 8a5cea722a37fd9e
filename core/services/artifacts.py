"""Files that jobs leave: stored first, named in the row in the same transaction as the result."""

from __future__ import annotations

from dataclasses import dataclass
from tempfile import SpooledTemporaryFile

from django.core.files import File
from django.core.files.base import ContentFile

from core.models import Build, PlayedJob
from core.models.job import artifact_name
from environments.archive_format import write_duel
from environments.records import DuelRecord


@dataclass(frozen=True, slots=True)
class DuelArtifacts:
    """Storage names of what a played job left; empty where there is nothing."""

    environment_version: str
    matches_done: int
    records: str
    player_1_log: str
    player_2_log: str


def artifacts_store(*, job: PlayedJob, record: DuelRecord, player_logs: tuple[str, str]) -> DuelArtifacts:
    """Write the artifacts of a played job, outside of any transaction, under a name of this claim alone."""
    with SpooledTemporaryFile(max_size=1 << 20) as file:
        write_duel(record, file)
        file.seek(0)
        records = _store(job, "records.zip", File(file))
    logs = [
        _store(job, f"player_{player}.log", ContentFile(text.encode("utf-8", "replace"))) if text else ""
        for player, text in enumerate(player_logs, start=1)
    ]
    return DuelArtifacts(record.environment, len(record.matches), records, logs[0], logs[1])


def artifacts_attach(job: PlayedJob, artifacts: DuelArtifacts) -> dict[str, object]:
    """The row's fields that point at stored artifacts."""
    return {
        "environment_version": artifacts.environment_version,
        "matches_done": artifacts.matches_done,
        "records": artifacts.records,
        "player_1_log": artifacts.player_1_log,
        "player_2_log": artifacts.player_2_log,
    }


def sbom_store(*, build: Build, document: bytes) -> str:
    """Write the bill of materials of a build under a name of this claim alone; return its name."""
    return build.sbom.storage.save(artifact_name(build, "sbom.json"), ContentFile(document))


def _store(job: PlayedJob, filename: str, content: File[bytes]) -> str:
    return job.records.storage.save(artifact_name(job, filename), content)
