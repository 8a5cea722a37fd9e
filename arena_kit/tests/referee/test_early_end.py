"""Duels that end as soon as a test decides them: their records, which do not depend on the players' speed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

import pytest

from arena_kit.environment.records import half_points
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from arena_kit.referee.wire import Kind
from arena_kit.tests.duels import faults, first_valid, last_valid, mixed, outline, play
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, action

TEST = SequentialTest(-100, 100, cap=60)
DECIDED = partial(pairs_to_decide, TEST)


def drawn(seed: int) -> Answerer:
    """A player whose style depends only on the number of the match."""
    draw = random.Random(seed)
    styles = [draw.random() < 0.6 for _ in range(200)]
    return lambda asked: (last_valid if styles[asked.match] else mixed)(asked)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_record_ends_with_the_deciding_pair_however_many_matches_run_at_once(seed: int) -> None:
    whole = play(drawn(seed), mixed, matches=120).record
    pairs = pairs_to_decide(TEST, half_points(whole.matches))
    assert pairs is not None
    assert 2 * pairs < 100
    for parallel in (1, 7, 64):
        duel = play(drawn(seed), mixed, matches=120, parallel=parallel, decided=DECIDED)
        assert outline(duel.record) == outline(whole)[: 2 * pairs]


def test_pairs_that_are_over_before_an_earlier_one_are_not_looked_at_yet() -> None:
    looked_at: list[list[int]] = []

    def look(pairs: Sequence[int]) -> int | None:
        looked_at.append(list(pairs))
        return 3 if len(pairs) >= 3 else None

    def quick_to_lose(asked: Asked) -> bytes:
        """A player that plays the first pair to its end and fails in all others at once."""
        return mixed(asked) if asked.match <= 2 or asked.kind is Kind.END else action(asked.match, asked.sequence, -1)

    whole = play(quick_to_lose, last_valid, matches=12).record
    first, *others = half_points(whole.matches)
    assert first > 0 == max(others)
    duel = play(quick_to_lose, last_valid, matches=12, parallel=12, decided=look)
    assert outline(duel.record) == outline(whole)[:6]
    assert all(seen == [first, *others][: len(seen)] for seen in looked_at)


def test_who_forfeits_everything_has_lost_the_test() -> None:
    duel = play(lambda _: None, first_valid, matches=120, parallel=8, decided=DECIDED)
    assert {player for player, _ in faults(duel).values()} == {0}
    assert set(half_points(duel.record.matches)) == {0}
    assert len(duel.record.matches) == 2 * (DECIDED([0] * 60) or 0) < 20


def test_matches_that_still_run_are_left_alone_and_those_that_are_over_are_told() -> None:
    containers: list[FakeContainer] = []
    seen: list[int] = []
    duel = play(
        mixed, last_valid, matches=40, parallel=40,
        decided=lambda _: 1, containers=containers, on_progress=seen.append,
    )  # fmt: skip
    assert len(duel.record.matches) == seen[-1] == 2
    for container in containers:
        ended = {asked.match for asked in container.asked if asked.kind is Kind.END}
        assert {1, 2} <= ended
        assert len(ended) < 40
