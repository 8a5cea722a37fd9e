"""The verdict of a validation, in which a submission plays against itself or a few episodes: any fault fails it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from arena_kit.environment.records import Fault
from arena_kit.environment.spec import Limits
from arena_kit.referee.faults import PlayerFault, with_output
from arena_kit.referee.play import PlayedDuel, PlayedEvaluation

PACE = "At this pace"
"""How each sentence about a pace begins."""
TIME_FAULTS = (PlayerFault.DUEL_TIME, PlayerFault.EVALUATION_TIME)


@dataclass(frozen=True, slots=True)
class FoundFault:
    """The reason why a validation fails: a typed code, and a sentence for the owner."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a whole duel or evaluation takes at the pace of a validation.

    seconds: wall time of it. limit_seconds: what it may take. what: such as "a duel of 500 matches against itself".
    cut: what happens to one that takes longer, as a sentence.
    """

    what: str
    seconds: float
    limit_seconds: float
    cut: str = "The slower player forfeits what is not over by then."

    @property
    def is_cut(self) -> bool:
        """True if it would not be over in time."""
        return self.seconds > self.limit_seconds

    @property
    def sentence(self) -> str:
        """The pace in words, and what to change where it is too slow."""
        begin = (
            f"{PACE} {self.what} takes about {_duration(self.seconds)}; the limit is {_duration(self.limit_seconds)}."
        )
        if not self.is_cut:
            return begin
        times = self.seconds / self.limit_seconds
        return f"{begin} {self.cut} Think at least {times:.1f} times faster."


def duel_pace(duel: PlayedDuel, limits: Limits, *, planned: int, whole: int) -> Pace | None:
    """Return the pace of a validation of matches; None if none was over.

    planned, whole: matches of the validation and of a duel.
    """
    records = duel.record.matches
    seconds = duel.playing_seconds
    if len(records) < planned:
        # Others were under way when the time was up.
        seconds = sum(sum(record.thinking_seconds) for record in records)
    return _pace(f"a duel of {whole} matches against itself", seconds, len(records), whole, limits)


def evaluation_pace(played: PlayedEvaluation, limits: Limits, *, whole: int) -> Pace | None:
    """Return the pace of a validation of episodes; None if none was over. whole: episodes of an evaluation."""
    count = len(played.record.episodes)
    found = _pace(f"an evaluation of {whole} episodes", played.playing_seconds, count, whole, limits)
    return replace(found, cut="One that is not over by then fails.") if found else None


def _pace(what: str, seconds: float, played: int, whole: int, limits: Limits) -> Pace | None:
    return Pace(what, seconds / played * whole, limits.duel_seconds) if played and whole else None


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:,.0f} s"


def first_fault(duel: PlayedDuel, of: Collection[int] = (0, 1)) -> FoundFault | None:
    """Return the fault of the first match that one of these players forfeited, or None if there is none.

    For a player that did not start or died, the sentence quotes the last line of its output.
    """
    for match in duel.record.matches:
        if match.fault is Fault.PLAYER and (match.faulty_player or 0) in of:
            log = duel.player_logs[match.faulty_player or 0]
            text = with_output(match.error_code, f"Match {match.number}: {match.error}", log)
            return FoundFault(match.error_code, text)
    return None


def duel_fault(duel: PlayedDuel, limits: Limits, of: Collection[int] = (0, 1)) -> FoundFault | None:
    """Return why a submission that played as these players, against itself if as both, fails, or None."""
    return _timed(first_fault(duel, of), limits, "pair of matches")


def evaluation_fault(played: PlayedEvaluation, limits: Limits) -> FoundFault | None:
    """Return why a submission that played episodes fails, or None."""
    if played.failure is None:
        return None
    code = played.failure.fault.value
    found = FoundFault(code, with_output(code, played.failure.sentence, played.player_log))
    return _timed(found, limits, "episode")


def _timed(fault: FoundFault | None, limits: Limits, least: str) -> FoundFault | None:
    """Return a fault of time in the words of a validation, other faults unchanged."""
    if fault is None or fault.code not in TIME_FAULTS:
        return fault
    text = (
        f"The player is too slow: it did not finish one {least} within {limits.validation_seconds:g} s, "
        "the time limit of a validation."
    )
    return FoundFault("validation_time_exhausted", text)
