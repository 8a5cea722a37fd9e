"""The fault that failed a validation, with the player's own traceback, for people who may see its source."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from arena_kit.environment.records import Fault
from arena_kit.referee.tracebacks import OwnLine, own_line
from core.duels.selectors import NotStored, records_open
from core.duels.traces import match_trace
from core.models import JobState, Validation


@dataclass(frozen=True, slots=True)
class ShownFault:
    """A forfeited match: its number, the moves before the fault, and what the player raised, if it did.

    error: the last line of the traceback. own: the line of the player's own files.
    """

    validation: int
    match: int
    moves: int
    trace: str

    @property
    def own(self) -> OwnLine | None:
        return own_line(self.trace)

    @property
    def error(self) -> str:
        return self.trace.rstrip().rpartition("\n")[2]


def validation_fault(validation: Validation | None) -> ShownFault | None:
    """Return the first fault of a failed validation of matches; None without one, or without its record."""
    if validation is None or validation.state != JobState.FAILED or not validation.records:
        return None
    with suppress(NotStored), records_open(validation) as archive:
        number = next((row.number for row in archive.index if row.fault is Fault.PLAYER), None)
        if number is not None:
            match = archive.match(number)
            return ShownFault(validation.pk, number, len(match.actions), match_trace(validation, match))
    return None
