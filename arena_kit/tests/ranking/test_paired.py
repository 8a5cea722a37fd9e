"""Paired comparisons: what both have met, by opening and by seed, and the verdict in words."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.ranking.paired import Pair, Verdict, against_each_other, against_same, difference_interval, on_same_seeds
from arena_kit.ranking.scores import Interval, paired_difference
from arena_kit.ranking.verdicts import (
    both_sentences,
    own_duels_sentence,
    same_rivals_sentence,
    same_seeds_sentence,
)

RIVALS, STARTS = ("paper", "rock", "scissors"), 40


def played(*, lift: float, seed: int, shared: bool, luck: float = 0.0, rivals: tuple[str, ...] = RIVALS) -> list[Pair]:
    """Pairs against each rival from each start; a start is better or worse for either player by up to `luck`."""
    dice, pairs = random.Random(seed), []
    for rival in rivals:
        for start in range(STARTS):
            own = start if shared else (seed, rival, start)
            favour = luck * random.Random(f"start {own}").uniform(-1, 1)
            chance = min(1.0, max(0.0, 0.5 + lift + favour))
            pairs.append(Pair(rival, own, sum(dice.random() < chance for _ in range(2)) / 2))
    return pairs


def test_equal_pairs_from_equal_starts_have_exactly_the_interval_of_their_differences() -> None:
    first, second = played(lift=0.1, seed=1, shared=True), played(lift=0.0, seed=2, shared=True)
    found = against_same(first, second)
    assert found is not None
    by_start = [
        sum(pair.points for pair in first[start::STARTS]) / 3 - sum(pair.points for pair in second[start::STARTS]) / 3
        for start in range(STARTS)
    ]
    expected = difference_interval(by_start)
    assert found.difference.value == pytest.approx(expected.value)
    assert found.difference.high - found.difference.low == pytest.approx(expected.high - expected.low, rel=0.03)
    assert (found.units, found.results) == (STARTS, 2 * 2 * 3 * STARTS)


def test_the_luck_of_common_openings_cancels_out() -> None:
    widths = []
    for shared in (True, False):
        found = against_same(
            played(lift=0.0, seed=1, shared=shared, luck=2.0), played(lift=0.0, seed=2, shared=shared, luck=2.0)
        )
        assert found is not None
        widths.append(found.difference.high - found.difference.low)
    assert widths[0] < 0.75 * widths[1]


@pytest.mark.parametrize("shared", [True, False])
def test_equals_are_seldom_told_apart_and_a_better_one_is_found(shared: bool) -> None:
    def verdicts(lift: float) -> list[Verdict]:
        made = [
            against_same(
                played(lift=lift, seed=2 * number, shared=shared, luck=0.3),
                played(lift=0.0, seed=2 * number + 1, shared=shared, luck=0.3),
            )
            for number in range(40)
        ]
        return [found.verdict for found in made if found is not None]

    assert verdicts(0.0).count(Verdict.OPEN) >= 35
    assert verdicts(0.2).count(Verdict.FIRST) >= 36
    assert verdicts(-0.2).count(Verdict.SECOND) >= 36


def test_only_rivals_that_both_have_met_count() -> None:
    first = [*played(lift=0.4, seed=1, shared=True), *played(lift=-0.5, seed=3, shared=True, rivals=("first's own",))]
    second = [*played(lift=0.0, seed=2, shared=True), *played(lift=0.5, seed=4, shared=True, rivals=("second's own",))]
    assert against_same(first, second) == against_same(first[: 3 * STARTS], second[: 3 * STARTS])
    assert against_same(first, played(lift=0.0, seed=5, shared=True, rivals=("nobody else's",))) is None


def test_matches_that_repeat_each_other_prove_nothing() -> None:
    """Two players without randomness may win a hundred times: it is one result."""
    found = against_same([Pair("rock", "a", 1.0)] * 100, [Pair("rock", "b", 0.0)] * 100)
    assert found is not None
    assert (found.difference.value, found.verdict, found.units) == (1.0, Verdict.OPEN, 2)
    own = against_each_other([Pair("other", "a", 1.0)] * 100)
    assert own is not None
    assert own.verdict is Verdict.OPEN


def test_turning_the_question_turns_the_answer() -> None:
    first, second = played(lift=0.2, seed=1, shared=True), played(lift=0.0, seed=2, shared=True)
    forth, back = against_same(first, second), against_same(second, first)
    assert forth is not None
    assert back is not None
    assert back.difference.low == pytest.approx(-forth.difference.high)
    assert (forth.verdict, back.verdict, back.first) == (Verdict.FIRST, Verdict.SECOND, forth.second)
    own = against_each_other([Pair("other", number, 0.75) for number in range(50)])
    assert own is not None
    assert own.first == 0.75
    assert own.difference.value == pytest.approx(0.5)
    assert own.verdict is Verdict.FIRST


def test_as_many_more_matches_as_it_says_would_show_the_difference() -> None:
    """With that many, about four of five comparisons of players that differ by so much are clear."""
    rng = random.Random(3)

    def compared(starts: int) -> Verdict | tuple[Verdict, int | None]:
        values = [rng.gauss(0.1, 0.5) for _ in range(starts)]
        found = against_each_other([Pair("other", start, (1 + value) / 2) for start, value in enumerate(values)])
        assert found is not None
        return found.verdict, found.more

    # (2.8 * 0.5 / 0.1) ** 2 starts of two matches.
    shown = [compared(196)[0] for _ in range(200)]
    assert 140 <= shown.count(Verdict.FIRST) <= 180
    few = against_each_other([Pair("other", start, 0.55 + (0.25 if start % 2 else -0.25)) for start in range(20)])
    assert few is not None
    assert few.verdict is Verdict.OPEN
    assert few.more is not None
    assert 2 * 196 * 0.9 < few.more + few.results < 2 * 196 * 1.3


def test_no_number_of_matches_is_promised_for_a_difference_of_almost_nothing() -> None:
    alike = against_each_other([Pair("other", start, float(start % 2)) for start in range(20)])
    tiny = against_each_other([Pair("other", start, 0.901 if start % 2 else 0.101) for start in range(20)])
    assert alike is not None
    assert tiny is not None
    assert (alike.more, tiny.more) == (None, None)


def test_evaluations_are_compared_seed_by_seed() -> None:
    better, weaker = [10.0 * seed + 2 + seed % 3 for seed in range(30)], [10.0 * seed for seed in range(30)]
    found = on_same_seeds(better, weaker)
    assert (found.difference, found.units, found.verdict) == (paired_difference(better, weaker), 30, Verdict.FIRST)
    unclear = on_same_seeds([1.0, 5.0, 2.0, 4.0], [2.0, 3.0, 2.5, 3.5])
    assert unclear.verdict is Verdict.OPEN
    assert unclear.more
    with pytest.raises(ValueError, match="same number"):
        on_same_seeds([1.0], [1.0, 2.0])


def test_a_verdict_is_a_sentence() -> None:
    first, second = played(lift=0.3, seed=1, shared=True), played(lift=0.0, seed=2, shared=True)
    forth, back = against_same(first, second), against_same(second, first)
    assert forth is not None
    assert back is not None
    said = same_rivals_sentence(forth, "ann v3", "ann v2", 3)
    assert said.startswith("Against the same 3 opponents ann v3 is better than ann v2: it scored 8")
    assert "%, ann v2 " in said
    assert said.endswith("), from 480 matches.")
    verdict, _, gap = same_rivals_sentence(back, "ann v2", "ann v3", 3).partition(" The difference, ")
    assert verdict == said.partition(" The difference, ")[0]
    # The sign is that of the table, which has the first one's column first.
    assert gap.startswith("ann v2 less ann v3, is −")
    open_one = against_same(first[:1], second[:1])
    assert open_one is not None
    assert same_rivals_sentence(open_one, "a", "b", 1).startswith(
        "Against the same opponent no difference is shown yet: a scored "
    )


SHARES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(direct=SHARES, first=SHARES, second=SHARES)
def test_a_headline_never_denies_what_its_own_figures_show(
    direct: list[float], first: list[float], second: list[float]
) -> None:
    """Over histories of all kinds: who is ahead in the direct matches, and in which order."""
    own = against_each_other([Pair("b", start, points) for start, points in enumerate(direct)])
    sides = [[Pair("c", start, points) for start, points in enumerate(side)] for side in (first, second)]
    same = against_same(*sides)
    assert own is not None
    assert same is not None
    said = both_sentences(own, same, "a", "b", 1)
    winner = {Verdict.FIRST: "a beats b: ", Verdict.SECOND: "b beats a: "}
    start = winner.get(own.verdict, "In the duels between a and b no difference is shown yet: ")
    assert said.startswith(start)
    assert ("the other way round" in said) == ({own.verdict, same.verdict} == {Verdict.FIRST, Verdict.SECOND})
    gap = said.partition("The difference, a less b, is ")[2].partition(" percentage points")[0].replace(",", "")
    value = float(gap.replace("−", "-"))
    assert (value > 0, value < 0) == (same.difference.value > 1e-9, same.difference.value < -1e-9)
    shown = said.partition("Against the same opponent ")[2].partition(" The difference")[0]
    equal = same.first == pytest.approx(same.second, abs=1e-9)
    assert (len(set(re.findall(r"[\d.]+%", shown))) == 2) == (not equal)


def test_sentences_name_the_better_one_and_how_many_more_are_needed() -> None:
    lost = against_each_other([Pair("other", number, 0.25) for number in range(50)])
    assert lost is not None
    assert own_duels_sentence(lost, "a", "b").startswith("b beats a: it scored 75% (95% interval 7")
    assert own_duels_sentence(lost, "a", "b").endswith("in the 100 matches between them.")
    few = against_each_other([Pair("other", start, 0.55 + (0.25 if start % 2 else -0.25)) for start in range(20)])
    assert few is not None
    assert "more matches would be needed to show a difference of this size." in own_duels_sentence(few, "a", "b")
    same = on_same_seeds([3.0, 4.0], [3.0, 4.0])
    assert same_seeds_sentence(same, "a", "b") == "a and b scored the same on each of the same 2 seeds: 3.5 on average."
    worse = on_same_seeds([-3.0] * 20, [12345.0] * 20)
    assert same_seeds_sentence(worse, "a", "b") == (
        "b is better than a: on the same 20 seeds it scored 12,345 on average, a −3. "
        "The difference is 12,348 (95% interval 12,348 to 12,348)."
    )
    assert worse.difference == Interval(-12348.0, -12348.0, -12348.0)
