"""The findings of a check of a record, for duels and evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.protocol import ArenaEnvironmentError

NOT_PLAYABLE = (ArenaEnvironmentError, LookupError, TypeError, ValueError, OverflowError)
"""The errors that rules raise for the actions of a damaged or forged record."""


class CannotCheck(Exception):
    """A record cannot be played again on this machine, which does not make it wrong; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something in a record that cannot have happened, or that differs from what was kept elsewhere.

    number: of the match or episode; None for the whole record. part: what `number` counts.
    """

    number: int | None
    sentence: str
    part: str = "Match"

    def __str__(self) -> str:
        return self.sentence if self.number is None else f"{self.part} {self.number}: {self.sentence}"


def first_difference(one: Sequence[object], two: Sequence[object]) -> int | None:
    """Return the first index at which two sequences differ, or at which one of them ends; None when they are equal."""
    if one == two:
        return None
    pairs = zip(one, two, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
