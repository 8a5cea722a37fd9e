"""Duels, their matches and files as pages show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from django.db.models.fields.files import FieldFile

from arena_kit.environment.protocol import ArenaEnvironmentError, UnknownEnvironment
from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive, MatchSummary, write_duel
from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import ReplayStep, replay
from arena_kit.environment.spec import EnvironmentSpec
from core.jobs.lines import line
from core.models import Duel, JobState, PlayedJob, Validation
from core.operations.removed import removed_on

GROUPS = ("player_1", "player_2", "draw", "player_1_error", "player_2_error")
"""Kinds of results in the order pages show them."""
SPOOL_BYTES = 1 << 20


class NotStored(Exception):
    """A file, record or rule that is asked for is not there (any more); the message is a sentence for a person."""


class NotKept(NotStored):
    """It was there, and is not kept any longer."""


class NotPlayed(NotStored):
    """There is nothing to show because the job has not been played, or never will be."""


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches a list shows, as people ask for it in an address; what is not understood is ignored.

    result: one of GROUPS, or empty for all. first: the player (1 or 2) that moved first, or 0 for both.
    longest: by number of moves, most first, instead of by number.
    """

    result: str = ""
    first: int = 0
    longest: bool = False


@dataclass(frozen=True, slots=True)
class MatchGroup:
    """Matches with the same kind of result; count: all of them, shown or not."""

    key: str
    count: int
    matches: Sequence[MatchSummary]


def duels_next(*, count: int) -> list[Duel]:
    """The duels that workers will take next, with what it takes to play them."""
    return list(line(Duel).select_related(*Duel.RELATED)[:count])


def duel_get(duel_id: int) -> Duel:
    """A duel with everything its page names. Raises Duel.DoesNotExist."""
    related = (
        "tournament",
        "promotion",
        "player_1__agent__environment",
        "player_1__agent__owner",
        "player_2__agent__owner",
        "void",
    )
    return Duel.objects.select_related(*related).get(pk=duel_id)


def validation_get(validation_id: int) -> Validation:
    """A validation with its agent. Raises Validation.DoesNotExist."""
    return Validation.objects.select_related("submission__agent__environment", "submission__agent__owner").get(
        pk=validation_id
    )


def spec_get(job: PlayedJob) -> EnvironmentSpec:
    """The rules a job was played with. Raises NotStored when this arena no longer has them."""
    try:
        return get_spec(job.environment_version)
    except UnknownEnvironment:
        raise NotStored(
            f"This was played with {job.environment_version or 'rules'} that this arena no longer has, "
            "so it cannot be drawn."
        ) from None


def match_get(job: PlayedJob, number: int) -> tuple[MatchRecord, int]:
    """A match by its number from 1, and how many there are. Raises NotStored."""
    with records_open(job) as archive:
        try:
            return archive.match(number), archive.match_count
        except LookupError as error:
            raise NotStored(str(error.args[0])) from None


def replay_frames(job: PlayedJob, number: int) -> list[ReplayStep]:
    """Every state of a match, by playing it again. Raises NotStored, also where the record does not fit the rules."""
    record, _ = match_get(job, number)
    try:
        return list(replay(spec_get(job), record))
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        # A damaged record can hold anything; the rules stumble over it in their own ways.
        raise NotStored(f"The record of match {number} does not fit its rules, so it cannot be played again.") from None


def match_groups(index: Sequence[MatchSummary], wanted: MatchFilter) -> list[MatchGroup]:
    """The matches of a duel by kind of result, as far as they are wanted; kinds that did not occur are left out."""
    found: dict[str, list[MatchSummary]] = {}
    for summary in index:
        found.setdefault(_group_of(summary), []).append(summary)
    return [MatchGroup(key, len(found[key]), _wanted(key, found[key], wanted)) for key in GROUPS if key in found]


@contextmanager
def records_open(job: PlayedJob) -> Iterator[DuelArchive]:
    """The records of a played job. Raises NotStored."""
    if not job.records:
        raise NotPlayed(_why_not_played(job))
    with file_open(job.records, f"The records of this {job.KIND} are") as file:
        try:
            yield DuelArchive(file)
        except ArtifactDamaged as damage:
            raise NotStored(str(damage)) from None


def records_without_traces(job: PlayedJob, players: Sequence[int]) -> IO[bytes]:
    """A copy of a job's records in which faults of these players (0, 1) keep their sentence but lose their trace.

    A trace quotes source. Raises NotStored.
    """
    with records_open(job) as archive:
        record = archive.record()
    matches = tuple(
        replace(match, error=match.error.partition("\n")[0]) if match.faulty_player in players else match
        for match in record.matches
    )
    copy = cast(IO[bytes], SpooledTemporaryFile(max_size=SPOOL_BYTES))  # noqa: SIM115  (the response closes it)
    write_duel(replace(record, matches=matches), copy)
    copy.seek(0)
    return copy


@contextmanager
def file_open(field: FieldFile, what: str) -> Iterator[IO[bytes]]:
    """A stored file. what: begins the sentence when it is not there. Raises NotStored."""
    file = file_get(field, what)
    try:
        yield file
    finally:
        file.close()


def file_get(field: FieldFile, what: str) -> IO[bytes]:
    """As `file_open`, for those who close it themselves."""
    if not field:
        raise NotStored(f"{what} not there.")
    if day := removed_on(field.name):
        raise NotKept(f"{what} not kept any longer, since {day}.")
    try:
        return cast(IO[bytes], field.storage.open(str(field.name), "rb"))
    except OSError:
        raise NotStored(f"{what} no longer stored.") from None


def _why_not_played(job: PlayedJob) -> str:
    return {
        JobState.QUEUED: f"This {job.KIND} waits for a worker; its matches can be seen when it has been played.",
        JobState.RUNNING: f"This {job.KIND} is being played; its matches can be seen when it is over.",
        JobState.CANCELLED: f"This {job.KIND} was cancelled before it was played.",
    }.get(JobState(job.state), f"This {job.KIND} could not be played, so there is nothing to see.")


def _group_of(summary: MatchSummary) -> str:
    if summary.fault is Fault.PLAYER and summary.faulty_player is not None:
        return f"player_{summary.faulty_player + 1}_error"
    return summary.outcome.value.lower()


def _wanted(key: str, matches: list[MatchSummary], wanted: MatchFilter) -> list[MatchSummary]:
    if wanted.result not in ("", key):
        return []
    shown = [match for match in matches if wanted.first in (0, match.first_player + 1)]
    return sorted(shown, key=lambda match: -match.moves) if wanted.longest else shown
