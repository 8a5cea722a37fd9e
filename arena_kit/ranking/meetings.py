"""Words of meetings and stages, which `arena_kit.ranking.formats` writes down and pages read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


class Decision(Enum):
    """How a meeting was decided; the value is a sentence for the page."""

    PLAYED = "Played."
    EXTENDED = "Level at first, decided by more matches."
    BETTER_SEED = "Still level after all extensions: the better seed goes through."
    UNPLAYABLE = "The arena could not play it."
    WALKOVER = "The opponent has withdrawn."
    ANNULLED = "Withdrawn: it counts for nobody."
    BYE = "No opponent in this round."
    NOT_NEEDED = "Not needed any more."


@dataclass(frozen=True, slots=True)
class Source:
    """Where a side of a meeting comes from: `seed` 3, the `winner` or `loser` of meeting "W1.2", `place` "A1"."""

    kind: str
    of: str


class StageKind(StrEnum):
    ALL_PLAY_ALL = "all play all"
    SWISS = "swiss"
    BRACKET = "bracket"
