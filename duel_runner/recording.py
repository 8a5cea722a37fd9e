"""Recordings: pictures of an evaluation's episode, replayed from its record."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.conf import settings

from arena_kit.environment.adapters import video
from arena_kit.environment.episodes import EvaluationArchive
from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.environment.registry import kept_text
from arena_kit.environment.replay import ReplayMismatch
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.errors import PlatformFault
from arena_kit.referee.recheck.evaluations import other_runtime
from core.jobs.artifacts import files_stored
from core.jobs.lease import Lease
from core.jobs.lifecycle import job_fail, job_succeed
from core.links import page
from core.models import Evaluation, JobFault, Recording, Validation
from core.notices.alarms import alarm_raise
from duel_runner.rules import rules

FIELDS = {
    "video": video.VIDEO,
    "poster": video.STILL,
    "steps": video.RETURNS,
    "text": video.TEXT,
    "replay_document": video.DOCUMENT,
    "replay_page": video.PAGE,
}
"""Fields of a recording, and the drawing program's names of their files."""


def draw(recording: Recording, lease: Lease) -> None:
    """Draw one episode in a separate process, with limits and without a display."""
    played = recording.evaluation if recording.practice is None else recording.practice
    try:
        with played.records.open("rb") as file:
            archive = EvaluationArchive(file)
            episode = archive.episode(recording.episode_number)
    except (FileNotFoundError, ValueError, ArtifactDamaged, LookupError) as error:
        _fail(recording, lease, "records_unreadable", f"The records of this {played.KIND} cannot be read: {error}")
        return
    with tempfile.TemporaryDirectory(prefix="arena-recording-") as name:
        folder = Path(name)
        job = video.EpisodeToRecord(
            environment=played.environment_version,
            seed=episode.seed,
            actions=episode.actions,
            score=episode.score,
            folders=(str(settings.ENVIRONMENTS_DIR), str(_kept_folder(folder, played.environment_version))),
            number=episode.number,
            facts=_facts(recording, played, episode.number),
        )
        try:
            made = video.record_apart(job, folder, on_look=lease.raise_if_lost)
        except ReplayMismatch as mismatch:
            if differs := other_runtime(rules(played), archive.runtime):
                raise PlatformFault(f"{mismatch} {differs}", code="other_runtime") from None
            sentence = f"Episode {episode.number} of {played.KIND} {played.pk} cannot be replayed: {mismatch}"
            alarm_raise(
                key=f"{played.KIND}-{played.pk}-does-not-replay",
                message=sentence,
                address=page("evaluation", recording.evaluation_id),
            )
            _fail(recording, lease, "replay_mismatch", sentence)
            return
        except video.CannotRecord as trouble:
            raise PlatformFault(str(trouble), code="cannot_record") from None
        if made.no_video:
            lease.log(f"There is no video. {made.no_video}")
        files = {field: folder / file for field, file in FIELDS.items() if file in made.files}
        with files_stored(job=recording, files=files) as stored:
            job_succeed(job=recording, log=lease.text, **stored)


def _facts(recording: Recording, played: Evaluation | Validation, number: int) -> ReplayFacts:
    """Return what the replay files of an episode say besides its states."""
    submission = recording.evaluation.submission
    return ReplayFacts(
        match_id=f"{played.KIND}-{played.pk}-episode-{number}",
        agents=(ReplayAgent(str(submission.agent_id), str(submission), submission.number),),
        start_time=played.started_at.isoformat() if played.started_at else None,
        end_time=played.ended_at.isoformat() if played.ended_at else None,
    )


def _kept_folder(folder: Path, version: str) -> Path:
    """Return a folder with the file of an environment whose file is in none; the process that draws has no database."""
    kept = folder / "environments"
    if text := kept_text(version):
        kept.mkdir()
        (kept / "kept.yml").write_text(text, encoding="utf-8")
    return kept


def _fail(recording: Recording, lease: Lease, code: str, error: str) -> None:
    job_fail(job=recording, fault=JobFault.PLATFORM, code=code, error=error, log=lease.text)
