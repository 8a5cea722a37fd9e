"""Replay files of recorded episodes, which the recording has stored; see `core.duels.replays` for those of matches."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib

from arena_kit.environment.replay_file.document import EVERYTHING, ReplayOptions, document_bytes, document_reduced
from core.duels.replays import ReplayFile, ReplayForm
from core.duels.selectors import NotPlayed, NotStored, file_open
from core.models import Recording


def recording_replay(
    *, recording: Recording, form: ReplayForm, options: ReplayOptions = EVERYTHING, compress: bool = False
) -> ReplayFile:
    """Return the replay file of a recorded episode; check `recording_visible` first. Raises NotStored.

    compress: gzip a JSON document.
    """
    if not recording.is_over:
        raise NotPlayed("The recording of this episode is not ready yet.")
    field = recording.replay_page if form is ReplayForm.HTML else recording.replay_document
    with file_open(field, "The replay of this episode is") as file:
        try:
            content = gzip.decompress(file.read())
            if form is ReplayForm.JSON and options != EVERYTHING:
                content = document_bytes(document_reduced(json.loads(content), options))
        except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError):
            raise NotStored("The replay of this episode is damaged and cannot be sent.") from None
    name = f"evaluation-{recording.evaluation_id}-{recording.choice.lower()}.{form}"
    if form is ReplayForm.HTML:
        return ReplayFile(name, "text/html; charset=utf-8", content)
    if compress:
        return ReplayFile(f"{name}.gz", "application/gzip", gzip.compress(content, mtime=0))
    return ReplayFile(name, "application/json", content)


def recording_tag(recording: Recording, *choices: object) -> str:
    """Return an ETag that differs whenever the replay file would: names of stored files are never reused."""
    parts = [recording.replay_document.name, recording.replay_page.name, *map(str, choices)]
    return f'"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}"'
