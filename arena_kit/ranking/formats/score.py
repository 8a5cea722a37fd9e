"""By score: participants play alone, and their mean scores rank them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import ClassVar

from arena_kit.ranking.formats.contract import Format
from arena_kit.ranking.formats.meetings import VOID_LIMIT
from arena_kit.ranking.formats.plan import CountedScore, DuelState, History, Plan, Table
from arena_kit.ranking.formats.ranking import BASELINE, SCORE_COLUMNS, rank_rows
from arena_kit.ranking.formats.settings import Impossible, setting

MOST_EPISODES = 1_000
FAILED, UNSETTLED, SCORED = range(3)
"""The first part of a key of `rank_rows`: agents without a score stand below all others."""


@dataclass(frozen=True)
class ByScore(Format):
    """All participants play the same episodes, each alone, and are ranked by the mean of their scores.

    An agent that fails has no score and stands below those that have one. An evaluation that the arena itself fails is
    made again, three times in all. Participants who withdraw stand below all others, and baselines below them.
    """

    slug: ClassVar[str] = "score"
    name: ClassVar[str] = "By score"
    rule: ClassVar[str] = (
        "Each agent plays alone, once, on the same hidden seeds, which are drawn for this tournament. The mean score "
        "decides; equal scores share a rank."
    )
    plays_alone: ClassVar[bool] = True
    takes_baselines: ClassVar[bool] = True
    baseline_rule: ClassVar[str] = "Baselines play the same episodes but take no rank."

    episodes: int = setting(
        100,
        "How many episodes each agent plays.",
        2,
        MOST_EPISODES,
        worked_out="as many as the environment plays in an evaluation",
    )

    @property
    def length(self) -> int:
        return self.episodes

    def check_count(self, count: int) -> None:
        if count < self.fewest:
            raise Impossible(f"A tournament needs at least 2 participants, but there are {count}; wait for more.")

    def meeting_count(self, count: int) -> int:
        return count

    def planned(self, history: History) -> Plan:
        played: dict[int, list[CountedScore]] = defaultdict(list)
        for score in history.scores:
            played[score.participant].append(score)
        found = {who: _settled(played[who]) for who in history.participants}
        there = [who for who in history.participants if who not in history.left]
        return Plan(
            stages=(),
            table=_table(history, found),
            evaluate=tuple(who for who in there if found[who] is None),
            evaluated=tuple(who for who in there if (last := found[who]) and last.state is DuelState.OPEN),
        )


def _settled(scores: list[CountedScore]) -> CountedScore | None:
    """Return what counts of a participant's evaluations; None where it is to be evaluated."""
    last = next((one for one in scores if one.state is not DuelState.VOID), None)
    return scores[-1] if last is None and len(scores) >= VOID_LIMIT else last


def _table(history: History, found: dict[int, CountedScore | None]) -> Table:
    keys: dict[int, tuple[float, ...]] = {}
    notes: dict[int, tuple[str, ...]] = {}
    for who, score in found.items():
        if score is None or score.state is DuelState.OPEN:
            keys[who] = (UNSETTLED,)
        elif score.values is None:
            keys[who] = (FAILED,)
            failure = score.failure if score.state is DuelState.PLAYED else "The arena could not evaluate it."
            notes[who] = (f"No score. {failure}",)
        else:
            # Rounded as in the standings: the order in which scores were added up leaves traces in the last digits.
            keys[who] = (SCORED, round(score.values[0], 9))
    values = {who: (score.values or ()) if score else () for who, score in found.items()}
    ranked = [who for who in history.participants if who not in history.baselines]
    rows = rank_rows(ranked, keys, values, gone=history.left, notes=notes)
    notes |= {who: (BASELINE, *notes.get(who, ())) for who in history.baselines}
    below = rank_rows(sorted(history.baselines), keys, values, gone=history.left, notes=notes)
    return Table(SCORE_COLUMNS, (*rows, *(replace(row, rank=len(ranked) + 1) for row in below)))
