"""What a player that remembers one match of a pair can do with it in the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.environment.records import DuelRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import ArraySpec, EnvironmentSpec
from arena_kit.referee.match import match_seed, pair_seed
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.referee.wire import Kind
from arena_kit.tests.duels import CONNECT_FOUR, first_valid, mixed, outline, play
from arena_kit.tests.fake import Asked, action

CARDS = '''
"""Each of two seats has one of ten cards and names the card of the other. It cannot name its own."""
from random import Random

from arena_kit.environment.protocol import IllegalAction, Observation


class Cards:
    truncated = False

    def reset(self, seed):
        self._cards, self.to_move = Random(seed).sample(range(10), 2), (0, 1)

    def observe(self, seat):
        others = tuple(card for card in range(10) if card != self._cards[seat])
        return Observation([self._cards[seat]], others if self.to_move else ())

    def step(self, actions):
        if any(action == self._cards[seat] for seat, action in actions.items()):
            raise IllegalAction("This card is your own.")
        right = [actions[seat] == self._cards[1 - seat] for seat in (0, 1)]
        self.to_move = ()
        return float(right[0] - right[1]), float(right[1] - right[0])

    def frame(self):
        return list(self._cards)

    def text(self):
        return str(self._cards)
'''


@pytest.fixture
def cards(tmp_path: Path) -> EnvironmentSpec:
    (tmp_path / "cards.py").write_text(CARDS)
    return EnvironmentSpec(
        slug="cards", version=1, name="Cards", description="", image="cards.svg", entry_point="cards:Cards",
        renderer="cards:render", seats=2, observation=ArraySpec((1,)), action_count=10, forfeit_score=1, max_steps=1,
        matches_per_duel=200, matches_per_validation=2, folder=tmp_path, isolation="apart",
    )  # fmt: skip


class Rememberer:
    """Names the card that it had itself in the match before, which is the other's if both have one deal."""

    def __init__(self) -> None:
        self.own = 0

    def __call__(self, asked: Asked) -> bytes:
        if asked.kind is Kind.END:
            return asked.good_answer()
        before, self.own = self.own, next(card for card in range(10) if card not in asked.valid)
        return action(asked.match, asked.sequence, before if before != self.own else asked.valid[0])


def edge(spec: EnvironmentSpec) -> int:
    """What the rememberer wins from a player that is like it, but for its memory, in 200 matches one by one."""
    record = play(Rememberer(), first_valid, spec=spec, matches=200, parallel=1).record
    return record.summary.scores[0] - record.summary.scores[1]  # type: ignore[return-value]


def test_a_player_that_remembers_the_twin_match_wins_nothing_by_it(cards: EnvironmentSpec) -> None:
    # It is worth a win in almost every pair where both matches have one deal.
    assert edge(replace(cards, isolation="shared")) > 120
    assert abs(edge(cards)) < 40
    assert abs(edge(replace(cards, isolation="shared", chance=True))) < 40


def test_only_pairs_with_chance_or_hidden_information_have_two_seeds() -> None:
    hidden, chance = replace(CONNECT_FOUR, isolation="apart"), replace(CONNECT_FOUR, chance=True)
    for spec in (hidden, chance, get_spec("pong")):
        seeds = [match_seed(spec, 7, number) for number in range(1, 7)]
        assert seeds[::2] == [pair_seed(7, pair) for pair in range(3)]
        assert len(set(seeds)) == 6
    assert [match_seed(CONNECT_FOUR, 7, number) for number in (1, 2, 3)] == [
        pair_seed(7, 0), pair_seed(7, 0), pair_seed(7, 1),
    ]  # fmt: skip
    # The hash as documented: of the text 7/0/2.
    assert match_seed(hidden, 7, 2) == 326579804


def with_seeds(record: DuelRecord, *seeds: int) -> DuelRecord:
    matches = (replace(match, seed=seed) for match, seed in zip(record.matches, seeds, strict=True))
    return replace(record, matches=tuple(matches))


def test_records_from_before_are_checked_by_the_rule_that_they_were_made_by() -> None:
    pong = get_spec("pong")
    older = play(mixed, first_valid, spec=replace(pong, keeps_twins=True), matches=4).record
    newer = play(mixed, first_valid, spec=pong, matches=4).record
    assert outline(older) != outline(newer)
    assert recheck_record(pong, older) == recheck_record(pong, newer) == []
    # A record follows one of the two rules throughout.
    own = [match.seed for match in newer.matches]
    (mixture,) = {str(each) for each in recheck_record(pong, with_seeds(newer, own[0], own[0], *own[2:]))
                  if "its seed is" in str(each)}  # fmt: skip
    assert f"its seed is {own[0]}, not {own[1]}" in mixture
