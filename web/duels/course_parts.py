"""The sequential test that may end a duel, as the duel's page shows it: question, course and result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena_kit.environment.record_archive import MatchSummary
from arena_kit.environment.records import half_points
from arena_kit.ranking.sequential import SequentialState, SequentialTest, course
from core.models import Duel
from web.site.charts import TABLE_ROWS, rounded, thinned
from web.site.plots import Axis, Mark, Plot, PlotLine, PlotTable

VERDICTS = {
    SequentialState.ACCEPTED_H1: ("Decided", "good"),
    SequentialState.ACCEPTED_H0: ("Decided", "good"),
    SequentialState.INCONCLUSIVE: ("Inconclusive", "calm"),
    SequentialState.GOING_ON: ("Undecided", "calm"),
}
SCORES = ("lost both", "lost one, drew one", "one each, or drew both", "won one, drew one", "won both")


@dataclass(frozen=True, slots=True)
class Course:
    """A test on its duel's page. pairs: (result of player 1, number of pairs). plot: None before any pair is played."""

    question: str
    most_pairs: int
    word: str = ""
    tone: str = ""
    sentence: str = ""
    pairs: tuple[tuple[str, int], ...] = ()
    plot: Plot | None = None


def course_of(duel: Duel, names: tuple[str, str], matches: Sequence[MatchSummary]) -> Course | None:
    """Return the test of a duel, or None. matches: from its record, in order; empty if there is no record."""
    if duel.test is None:
        return None
    test = SequentialTest(**duel.test)
    question = test.question(*names)
    found = duel.test_result
    if found is None:
        return Course(question, min(test.cap, duel.match_count // 2))
    word, tone = VERDICTS[SequentialState(found["state"])]
    return Course(
        question,
        min(test.cap, duel.match_count // 2),
        word,
        tone,
        found["sentence"],
        tuple(zip(SCORES, found["counts"], strict=True)),
        _plot(test, half_points(matches)),
    )


def _plot(test: SequentialTest, pairs: Sequence[int]) -> Plot | None:
    ratios = [0.0, *course(test, pairs)]
    played = len(ratios) - 1
    if not played:
        return None
    shown = thinned(len(ratios))
    lower, upper = _figure(test.lower), _figure(test.upper)
    return Plot(
        summary=f"Log-likelihood ratio pair by pair: {_figure(ratios[-1])} after {played} pairs, between "
        f"{_figure(min(ratios[1:]))} and {_figure(max(ratios[1:]))}; the limits are {lower} and {upper}.",
        x=Axis("Pairs of matches", "whole", 0, played),
        y=Axis("Log-likelihood ratio"),
        xs=shown,
        lines=(PlotLine("log-likelihood ratio", rounded(ratios[number] for number in shown), look="line"),),
        marks=(
            Mark(0.0, axis="y", dash=()),
            Mark(test.upper, f"upper limit {upper}", axis="y", colour="--good", dash=(5, 4)),
            Mark(test.lower, f"lower limit {lower}", axis="y", colour="--good", dash=(5, 4)),
        ),
        table=PlotTable(
            ("Pairs of matches", "Log-likelihood ratio"),
            tuple((str(number + 1), _figure(ratios[number + 1])) for number in thinned(played, TABLE_ROWS)),
        ),
    )


def _figure(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
