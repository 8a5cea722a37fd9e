"""Versions compared by their scores: letters and colours, the chart, and each pair seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from arena_kit.ranking.paired import Paired
from arena_kit.ranking.verdicts import same_seeds_sentence
from core.models import Evaluation
from web.site.charts import Series, overlaid
from web.site.numbers import short
from web.site.plots import Plot

LOOKS = (
    ("A", "--first", ()),
    ("B", "--second", (7, 3)),
    ("C", "--third", (2, 3)),
    ("D", "--fourth", (9, 3, 2, 3)),
)
"""Letter, colour and dash pattern of each compared agent, so that they differ without colour too."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the compared submissions. letter: its name among the differences. colour, dash: those of its line."""

    letter: str
    colour: str
    dash: tuple[int, ...]
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class ScorePair:
    """Two compared submissions. paired: None if their seeds differ. better, worse, equal: numbers of episodes."""

    first: Compared
    second: Compared
    paired: Paired | None
    better: int = 0
    worse: int = 0
    equal: int = 0

    @property
    def sentence(self) -> str:
        """The verdict in words; empty if their seeds differ."""
        names = (str(self.first.evaluation.submission), str(self.second.evaluation.submission))
        return "" if self.paired is None else same_seeds_sentence(self.paired, *names)


def side_by_side(evaluations: Sequence[Evaluation]) -> list[Compared]:
    """Give each evaluation its letter, colour and dash pattern."""
    return [Compared(*look, evaluation) for look, evaluation in zip(LOOKS, evaluations, strict=False)]


def pairs(compared: Sequence[Compared], differences: Sequence[Sequence[Paired | None]]) -> list[ScorePair]:
    """Pair every two submissions, with their comparison seed by seed."""
    return [
        _pair(compared[row], compared[column], differences[row][column])
        for row, column in combinations(range(len(compared)), 2)
    ]


def distributions(compared: Sequence[Compared]) -> Plot | None:
    """Draw the scores of all submissions in one chart; None if none has different scores."""
    if all(len(set(scores(one.evaluation))) < 2 for one in compared):
        return None
    return overlaid(
        [
            Series(one.letter, str(one.evaluation.submission), scores(one.evaluation), one.colour, one.dash)
            for one in compared
        ]
    )


def constants(compared: Sequence[Compared]) -> list[str]:
    """Return a sentence for each submission whose episodes all scored the same."""
    found = []
    for one in compared:
        own = scores(one.evaluation)
        if own and min(own) == max(own):
            episodes = "The only episode" if len(own) == 1 else f"All {len(own)} episodes"
            found.append(f"{one.letter}: {episodes} of {one.evaluation.submission} scored {short(own[0])}.")
    return found


def scores(evaluation: Evaluation) -> list[float]:
    """Return the scores of an evaluation's episodes, in order."""
    return [float(score) for _, score, _, _ in evaluation.episodes]


def _pair(first: Compared, second: Compared, paired: Paired | None) -> ScorePair:
    if paired is None:
        return ScorePair(first, second, None)
    own, other = scores(first.evaluation), scores(second.evaluation)
    signs = [(one > two) - (one < two) for one, two in zip(own, other, strict=True)]
    return ScorePair(first, second, paired, signs.count(1), signs.count(-1), signs.count(0))
