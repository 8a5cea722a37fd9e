"""Made-up rows of a ledger, for tests of ratings."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from arena_kit.ranking.bradley_terry import Floats
from arena_kit.ranking.rating import POINTS, Seating

_ROW = st.tuples(
    st.integers(1, 12), st.sampled_from([(2, 3), (2, 5), (3, 5), (5, 7), (3, 7)]), st.booleans(),
    st.integers(0, 6), st.integers(0, 3), st.integers(0, 6),
)  # fmt: skip


def _seating(row: tuple[int, tuple[int, int], bool, int, int, int]) -> Seating:
    number, pair, is_swapped, wins, draws, losses = row
    first, second = pair[::-1] if is_swapped else pair
    # A duel has two players, whatever was drawn.
    return 100 * number + sum(pair), first, second, wins, draws, losses


SEATINGS = st.lists(_ROW.map(_seating), min_size=1, max_size=20).filter(lambda rows: any(sum(row[3:]) for row in rows))


def season(
    seed: int, truth: Floats, *, duels: int, matches: int, first_seat: float = 0.0, draws: float = 0.0
) -> list[Seating]:
    """All meet all in `duels` duels of `matches` from each seat; truth, first_seat: in points.

    draws: share of them between equals.
    """
    generator = np.random.default_rng(seed)
    rows: list[Seating] = []
    for number, (one, other) in enumerate(itertools.combinations(range(len(truth)), 2)):
        for duel in range(duels):
            for first, second in ((one, other), (other, one)):
                expected = 1 / (1 + np.exp(-(truth[first] - truth[second] + first_seat) / POINTS))
                drawn = draws * min(expected, 1 - expected)
                counts = generator.multinomial(matches, [expected - drawn, 2 * drawn, 1 - expected - drawn]).tolist()
                rows.append((number * duels + duel, first + 1, second + 1, *counts))
    return rows
