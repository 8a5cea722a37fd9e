"""Replays of matches on the site: their states, and their files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum

from arena_kit.environment.protocol import Frame
from arena_kit.environment.records import MatchRecord
from arena_kit.environment.replay_file.document import EVERYTHING, ReplayOptions, document_bytes, replay_document
from arena_kit.environment.replay_file.facts import YOU, ReplayAgent, ReplayFacts
from arena_kit.environment.replay_file.page import PageExtras, page_policy, replay_page
from arena_kit.environment.replay_file.views import FrameView, NotDrawable, frame_views
from arena_kit.environment.spec import EnvironmentSpec
from core.duels.selectors import NotStored, match_get, spec_get
from core.models import Duel, PlayedJob, Sitting, Submission, Validation
from core.version import arena_version

Names = tuple[str, str]
Replayable = Duel | Validation | Sitting


class ReplayForm(StrEnum):
    """The forms of a replay file."""

    JSON = "json"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class ReplayFile:
    """A replay to download. kind: its media type."""

    name: str
    kind: str
    content: bytes


def duel_names(row: Duel) -> Names:
    """Return the names of a duel's players."""
    return str(row.player_1), str(row.player_2)


def validation_names(row: Validation) -> Names:
    """Return the names of a validation's players, which are the same submission."""
    return f"{row.submission} (player 1)", f"{row.submission} (player 2)"


def sitting_names(row: Sitting, *, is_own: bool = False) -> Names:
    """Return the names of a sitting's players, the person first. is_own: whether that person reads them."""
    return YOU if is_own else row.persons_name, str(row.submission)


def match_views(
    job: PlayedJob, record: MatchRecord, names: Names, *, html_of: Callable[[Frame], str] | None = None
) -> list[FrameView]:
    """Return every state of a match for the viewer. html_of: as in `frame_views`. Raises NotStored."""
    try:
        return frame_views(spec_get(job), record, names, html_of=html_of)
    except NotDrawable as error:
        raise NotStored(str(error)) from None


def replay_facts(job: Replayable, number: int) -> ReplayFacts:
    """Return the facts about a match that a replay file holds besides its states."""
    players: tuple[Submission | None, Submission]
    match job:
        case Duel():
            players, names, name = (job.player_1, job.player_2), duel_names(job), f"duel-{job.pk}-match-{number}"
        case Sitting():
            players, names, name = (None, job.submission), sitting_names(job), f"sitting-{job.public_id}"
        case _:
            players, names = (job.submission, job.submission), validation_names(job)
            name = f"validation-{job.pk}-match-{number}"
    return ReplayFacts(
        match_id=name,
        agents=tuple(
            ReplayAgent("person", shown) if player is None else ReplayAgent(str(player.agent_id), shown, player.number)
            for player, shown in zip(players, names, strict=True)
        ),
        start_time=job.started_at.isoformat() if job.started_at else None,
        end_time=job.ended_at.isoformat() if job.ended_at else None,
    )


def replay_file_make(
    *,
    job: Replayable,
    number: int,
    form: ReplayForm,
    options: ReplayOptions = EVERYTHING,
    compress: bool = False,
) -> ReplayFile:
    """Make the replay file of a match. compress: gzip a JSON document. Raises NotStored."""
    record, _ = match_get(job, number)
    spec, facts = spec_get(job), replay_facts(job, number)
    name = f"{facts.match_id}.{form}"
    try:
        if form is ReplayForm.HTML:
            return ReplayFile(name, "text/html; charset=utf-8", replay_page(spec, record, facts).encode())
        content = document_bytes(replay_document(spec, record, facts, options), compress=compress)
    except NotDrawable as error:
        raise NotStored(str(error)) from None
    return ReplayFile(f"{name}.gz" if compress else name, f"application/{'gzip' if compress else 'json'}", content)


def embedded_page(*, job: Duel, number: int, extras: PageExtras) -> str:
    """Return the page of a match that other sites embed. Raises NotStored."""
    record, _ = match_get(job, number)
    try:
        return replay_page(spec_get(job), record, replay_facts(job, number), extras=extras)
    except NotDrawable as error:
        raise NotStored(str(error)) from None


def replay_tag(job: Replayable, number: int, *choices: object) -> str:
    """Return an ETag that differs whenever the file of a match would.

    A stored record never changes, and names of stored files are never reused. What else enters the file is in the facts
    and in the programs that draw it: those of the arena, and those of the environment's folder.
    """
    facts = asdict(replay_facts(job, number))
    programs = (job.environment_version, _drawn_by(spec_get(job)), arena_version(), page_policy())
    parts: list[object] = [str(job.records.name), facts, *programs, *map(str, choices)]
    return f'"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}"'


def _drawn_by(spec: EnvironmentSpec) -> int:
    """Return when the programs, pictures and styles of an environment were changed last, in nanoseconds."""
    try:
        paths = (*spec.folder.glob("*.py"), *spec.folder.glob("static/*"))
        return max((path.stat().st_mtime_ns for path in paths), default=0)
    except OSError:
        return 0
