"""Comparisons of two in a sentence or two for people."""

from __future__ import annotations

from arena_kit.ranking.paired import MOST_TIMES, Paired, Verdict
from arena_kit.ranking.scores import Interval


def both_sentences(own: Paired | None, same: Paired | None, first: str, second: str, rivals: int) -> str:
    """Say first what the duels between two show, if they have met, then what others show that both have met.

    rivals: how many these are. Empty where there is neither.
    """
    direct = own_duels_sentence(own, first, second) if own else ""
    others = same_rivals_sentence(same, first, second, rivals) if same else ""
    verdicts = {one.verdict for one in (own, same) if one}
    link = " It is the other way round against others: " if verdicts == {Verdict.FIRST, Verdict.SECOND} else " "
    return f"{direct}{link}{others}" if direct and others else direct or others


def same_rivals_sentence(found: Paired, first: str, second: str, rivals: int) -> str:
    """Say which of two is better against the rivals that both have met. first, second: their names."""
    same = "the same opponent" if rivals == 1 else f"the same {rivals} opponents"
    own, other = _shares(found.first, found.second)
    gap = f"The difference, {first} less {second}, is {_points(found.difference)}, from {found.results:,} matches."
    if found.verdict is Verdict.OPEN:
        scored = f"both scored {own}" if own == other else f"{first} scored {own} and {second} {other}"
        needed = _needed(found, "match", "matches")
        return f"Against {same} no difference is shown yet: {scored}. {gap}{needed}"
    better, worse = (first, second) if found.verdict is Verdict.FIRST else (second, first)
    if found.verdict is Verdict.SECOND:
        own, other = other, own
    return f"Against {same} {better} is better than {worse}: it scored {own}, {worse} {other}. {gap}"


def own_duels_sentence(found: Paired, first: str, second: str) -> str:
    """Say which of two is better in the duels between them."""
    if found.verdict is Verdict.OPEN:
        share = f"{first} scored {_share(found.difference)} in {found.results:,} matches"
        needed = _needed(found, "match", "matches")
        return f"In the duels between {first} and {second} no difference is shown yet: {share}.{needed}"
    is_first = found.verdict is Verdict.FIRST
    better, worse = (first, second) if is_first else (second, first)
    share = _share(found.difference if is_first else _turned(found.difference))
    return f"{better} beats {worse}: it scored {share} in the {found.results:,} matches between them."


def same_seeds_sentence(found: Paired, first: str, second: str) -> str:
    """Say which of two is better on the same seeds."""
    seeds = f"the same {found.units:,} seed{'s' if found.units > 1 else ''}"
    if found.verdict is Verdict.OPEN:
        alike = not (found.difference.low or found.difference.high)
        if alike:
            return f"{first} and {second} scored the same on each of {seeds}: {number(found.first)} on average."
        return (
            f"No difference between {first} and {second} is shown yet: on {seeds} they scored {number(found.first)} "
            f"and {number(found.second)} on average. The difference is {_scores(found.difference)}."
            f"{_needed(found, 'seed', 'seeds')}"
        )
    better, worse, own, other = _ordered(found, first, second)
    gap = found.difference if found.verdict is Verdict.FIRST else _turned(found.difference)
    return (
        f"{better} is better than {worse}: on {seeds} it scored {number(own)} on average, {worse} {number(other)}. "
        f"The difference is {_scores(gap)}."
    )


def number(value: float) -> str:
    """Write a number for a sentence, with a typographic minus sign: 0, 2.5, −12.34, 306.1, 12,346."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        text = f"{value:.3g}"
    else:
        digits = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3
        text = f"{value:,.{digits}f}"
        text = text.rstrip("0").rstrip(".") if digits else text
    return "0" if text == "-0" else text.replace("-", "−")


def _ordered(found: Paired, first: str, second: str) -> tuple[str, str, float, float]:
    """Return both names and mean results, the better one's before the other's."""
    if found.verdict is Verdict.FIRST:
        return first, second, found.first, found.second
    return second, first, found.second, found.first


def _turned(gap: Interval) -> Interval:
    return Interval(-gap.value, -gap.high, -gap.low)


def _share(gap: Interval) -> str:
    """Write a difference between two that share all points as the share of one of them."""
    value, low, high = ((1 + end) / 2 for end in (gap.value, gap.low, gap.high))
    return f"{value:.0%} (95% interval {low:.0%} to {high:.0%})"


def _shares(first: float, second: float) -> tuple[str, str]:
    """Write two shares of the matches so that unequal ones look unequal."""
    for digits in range(7):
        own, other = f"{first:.{digits}%}", f"{second:.{digits}%}"
        if own != other:
            break
    else:
        own = other = f"{first:.0%}"
    return own, other


def _points(gap: Interval) -> str:
    """Write a difference of shares, with its sign, in as many digits as it needs."""
    size = 100 * abs(gap.value)
    digits = next((digits for digits in range(1, 6) if not size or round(size, digits)), 6)
    value, low, high = (number(round(100 * end, digits)) for end in (gap.value, gap.low, gap.high))
    return f"{value} percentage points (95% interval {low} to {high})"


def _scores(gap: Interval) -> str:
    low, high = sorted((gap.low, gap.high)) if gap.value >= 0 else sorted((-gap.low, -gap.high))
    return f"{number(abs(gap.value))} (95% interval {number(low)} to {number(high)})"


def _needed(found: Paired, one: str, many: str) -> str:
    """Say how many more results would be needed, as a sentence that follows others."""
    if not found.difference.value:
        return ""
    if found.more is None:
        return f" A difference as small as this could be shown only with more than {MOST_TIMES} times as many {many}."
    more = _rounded(found.more)
    return f" About {more:,} more {one if more == 1 else many} would be needed to show a difference of this size."


def _rounded(count: int) -> int:
    """Round to two digits: the estimate is no better."""
    return int(float(f"{count:.2g}"))
