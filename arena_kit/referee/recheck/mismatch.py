"""What checking a record finds, whatever it is a record of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.protocol import ArenaEnvironmentError

NOT_PLAYABLE = (ArenaEnvironmentError, LookupError, TypeError, ValueError, OverflowError)
"""A record can hold anything; the rules stumble over it in their own ways."""


class CannotCheck(Exception):
    """A record cannot be played again on this machine, which says nothing against it; the message says why."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something in a record that cannot have happened, or is not what was kept elsewhere.

    number: of the match or episode; None for the whole record. part: what is numbered.
    """

    number: int | None
    sentence: str
    part: str = "Match"

    def __str__(self) -> str:
        return self.sentence if self.number is None else f"{self.part} {self.number}: {self.sentence}"


def first_difference(one: Sequence[object], two: Sequence[object]) -> int | None:
    """Index of the first place in which two sequences differ, also where one of them has ended; None when equal."""
    if one == two:
        return None
    pairs = zip(one, two, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
