"""Duels, their matches and files as pages show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from django.db.models.fields.files import FieldFile

from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive, MatchSummary, write_duel
from arena_kit.environment.records import Fault, MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from core.files.removed import removed_on
from core.jobs.lines import line, of_line
from core.lookup import Objects
from core.models import Agent, Duel, JobState, PlayedJob, Submission, Validation

GROUPS = ("player_1", "player_2", "draw", "player_1_error", "player_2_error")
"""Kinds of results, in the order in which pages show them."""
SPOOL_BYTES = 1 << 20


class NotStored(Exception):
    """A requested file, record or rule set is not there (any more); the message is a sentence for a person."""


class NotKept(NotStored):
    """The file existed, and its retention time is over."""


class NotPlayed(NotStored):
    """There is nothing to show because the job has not been played."""


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches a list shows, as an address asks for them; values that are not understood are ignored.

    result: one of GROUPS, or empty for all. first: the player (1 or 2) in the first seat, or 0 for both.
    order: 1 sorts by number of moves, the fewest first, -1 the most first, 0 by number.
    """

    result: str = ""
    first: int = 0
    order: int = 0


@dataclass(frozen=True, slots=True)
class MatchGroup:
    """Matches with the same kind of result. count: all of them, shown or not."""

    key: str
    count: int
    matches: Sequence[MatchSummary]


def duels_next(*, count: int, is_heavy: bool) -> list[Duel]:
    """Return the duels that workers take next of their line, with all that is needed to play them."""
    return list(of_line(line(Duel), {"is_heavy": is_heavy}).select_related(*Duel.RELATED)[:count])


DUEL = Objects(lambda key: Duel.objects.filter(pk=key).select_related("tournament", "promotion", "void"))
PLAYERS = Objects(
    lambda keys: Submission.objects.filter(pk__in=keys).select_related("agent__environment", "agent__owner", "rating")
)


def duel_get(duel_id: int) -> Duel:
    """Return a duel with everything that its page names. Raises Duel.DoesNotExist. Two queries."""
    found = DUEL(duel_id)
    if not found:
        raise Duel.DoesNotExist(f"There is no duel {duel_id}.")
    players = {row.pk: row for row in PLAYERS((found[0].player_1_id, found[0].player_2_id))}
    found[0].player_1, found[0].player_2 = players[found[0].player_1_id], players[found[0].player_2_id]
    return found[0]


def validation_get(validation_id: int) -> Validation:
    """Return a validation with its agent. Raises Validation.DoesNotExist."""
    return Validation.objects.select_related("submission__agent__environment", "submission__agent__owner").get(
        pk=validation_id
    )


def spec_get(job: PlayedJob) -> EnvironmentSpec:
    """Return the rules that a job was played with. Raises NotStored when this arena no longer has them."""
    try:
        return get_spec(job.environment_version)
    except UnknownEnvironment:
        raise NotStored(
            f"This was played with {job.environment_version or 'rules'} that this arena no longer has, "
            "so it cannot be drawn."
        ) from None


def match_get(job: PlayedJob, number: int) -> tuple[MatchRecord, int]:
    """Return a match by its number from 1, and the number of matches. Raises NotStored."""
    record, index = match_among(job, number)
    return record, len(index)


def match_among(job: PlayedJob, number: int) -> tuple[MatchRecord, Sequence[MatchSummary]]:
    """Return a match by its number from 1, and the list of all matches. Raises NotStored."""
    with records_open(job) as archive:
        try:
            return archive.match(number), archive.index
        except LookupError as error:
            raise NotStored(str(error.args[0])) from None


def match_groups(index: Sequence[MatchSummary], wanted: MatchFilter) -> list[MatchGroup]:
    """Return the matches of a duel that a filter asks for, grouped by kind of result; empty groups are left out."""
    found: dict[str, list[MatchSummary]] = {}
    for summary in index:
        found.setdefault(_group_of(summary), []).append(summary)
    return [MatchGroup(key, len(found[key]), _wanted(key, found[key], wanted)) for key in GROUPS if key in found]


@contextmanager
def records_open(job: PlayedJob) -> Iterator[DuelArchive]:
    """Open the records of a played job. Raises NotStored."""
    if not job.records:
        raise NotPlayed(_why_not_played(job))
    with file_open(job.records, f"The records of this {job.KIND} are") as file:
        try:
            yield DuelArchive(file)
        except ArtifactDamaged as damage:
            raise NotStored(str(damage)) from None


def records_without_traces(job: PlayedJob, players: Sequence[int]) -> IO[bytes]:
    """Return a copy of a job's records in which the faults of these players (0, 1) keep their sentence, not the trace.

    A trace quotes source code. Raises NotStored.
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


def records_shown(duel: Duel, may_read: Callable[[Agent], bool]) -> IO[bytes]:
    """Return a duel's records without the traces of agents whose source the viewer may not read. Raises NotStored."""
    players = ((duel.player_1, duel.player_1_errors), (duel.player_2, duel.player_2_errors))
    hidden = [place for place, (player, errors) in enumerate(players) if errors and not may_read(player.agent)]
    if hidden:
        return records_without_traces(duel, hidden)
    if not duel.records:
        raise NotPlayed(_why_not_played(duel))
    return file_get(duel.records, "The records of this duel are")


@contextmanager
def file_open(field: FieldFile, what: str) -> Iterator[IO[bytes]]:
    """Open a stored file. what: the start of the sentence for a missing file. Raises NotStored."""
    file = file_get(field, what)
    try:
        yield file
    finally:
        file.close()


def file_get(field: FieldFile, what: str) -> IO[bytes]:
    """Like `file_open`, but the caller closes the file."""
    if not field:
        raise NotStored(f"{what} not there.")
    if day := removed_on(field.name):
        raise NotKept(f"{what} no longer kept, since {day}.")
    try:
        return cast(IO[bytes], field.storage.open(str(field.name), "rb"))
    except OSError:
        raise NotStored(f"{what} no longer stored.") from None


def _why_not_played(job: PlayedJob) -> str:
    return {
        JobState.QUEUED: f"This {job.KIND} is waiting for a worker; its matches appear when it has been played.",
        JobState.RUNNING: f"This {job.KIND} is being played; its matches appear when it is over.",
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
    return sorted(shown, key=lambda match: wanted.order * match.moves)
