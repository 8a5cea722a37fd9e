"""Duels against players that speak the wire themselves: what counts, and which faults forfeit a match."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.referee.match import Match, pair_seed
from arena_kit.referee.play import run_match
from arena_kit.referee.wire import Kind
from arena_kit.tests.duels import (
    CONNECT_FOUR,
    Plan,
    at,
    faults,
    first_valid,
    last_valid,
    mixed,
    outline,
    play,
)
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, action, ready, text_answer

# --- Without faults ---------------------------------------------------------------------------------------


def test_pairs_share_a_seed_with_seats_swapped() -> None:
    record = play(first_valid, matches=5).record
    assert [match.seats for match in record.matches] == [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1)]
    assert [match.seed for match in record.matches] == [pair_seed(7, pair) for pair in (0, 0, 1, 1, 2)]
    assert len({match.seed for match in record.matches}) == 3


def test_pair_seeds_are_the_documented_hash() -> None:
    assert [pair_seed(7, 0), pair_seed(7, 1), pair_seed(8, 0)] == [1145793638, 2905889783, 2014869033]


def test_scores_and_outcomes_belong_to_players_not_to_seats() -> None:
    # Both fill columns from the left, so the seat that moves first completes four in a column first.
    record = play(first_valid, matches=2).record
    assert [(m.outcome, m.scores) for m in record.matches] == [
        (Outcome.PLAYER_1, (1.0, -1.0)),
        (Outcome.PLAYER_2, (-1.0, 1.0)),
    ]
    assert record.summary.points == (2, 2)
    assert record.summary.outcome is Outcome.DRAW


def test_previous_reward_sums_up_since_the_seats_last_action() -> None:
    containers: list[FakeContainer] = []
    play(first_valid, matches=1, containers=containers)
    rewards = [[asked.reward for asked in container.asked] for container in containers]
    assert rewards[0][-1] == 1.0
    assert rewards[1][-1] == -1.0
    assert set(rewards[0][1:-1]) == set(rewards[1][1:-1]) == {0.0}
    # Nothing is reported to a first move: its column holds the seat.
    assert (rewards[0][0], rewards[1][0]) == (0.0, 1.0)


def test_both_players_are_told_the_end_of_every_match() -> None:
    containers: list[FakeContainer] = []
    play(first_valid, matches=3, containers=containers)
    for container in containers:
        assert sorted(asked.match for asked in container.asked if asked.kind is Kind.END) == [1, 2, 3]


@pytest.mark.parametrize("slug", ["tic-tac-toe", "connect-four", "quarto"])
def test_results_do_not_depend_on_how_many_matches_run_at_once(slug: str) -> None:
    duels = [
        play(mixed, last_valid, spec=get_spec(slug), matches=40, parallel=parallel) for parallel in (1, 7, 32, 128)
    ]
    assert [outline(duel.record) for duel in duels[1:]] == [outline(duels[0].record)] * 3
    assert len({match.actions for match in duels[0].record.matches}) > 5


def test_no_more_matches_run_at_once_than_the_more_modest_player_takes() -> None:
    containers: list[FakeContainer] = []
    modest = Plan(lambda: FakeContainer(first_valid, hello=ready(2)))
    play(first_valid, [modest], matches=9, parallel=8, containers=containers)

    assert containers[0].most_at_once() == 2


def test_progress_counts_up_to_all_matches() -> None:
    seen: list[int] = []
    play(first_valid, matches=6, parallel=2, on_progress=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 6


def test_a_match_in_one_process_gives_the_same_record_as_over_the_wire() -> None:
    class FirstValid:
        def start(self, state: Any, valid_actions: Any) -> int:
            return int(valid_actions[0])

        def step(self, state: Any, valid_actions: Any, prev_reward: float) -> int:
            return int(valid_actions[0])

        def end(self, state: Any, prev_reward: float) -> None:
            self.last = prev_reward

    players = (FirstValid(), FirstValid())
    bare = run_match(CONNECT_FOUR, players, pair_seed(7, 0))
    wired = play(first_valid, matches=1).record.matches[0]
    assert (bare.actions, bare.outcome, bare.scores) == (wired.actions, wired.outcome, wired.scores)
    assert (players[0].last, players[1].last) == (1.0, -1.0)


# --- Faults that forfeit only one match -------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1, 7, 2**63 - 1, -(2**63)])
def test_an_action_that_is_not_valid_forfeits_its_match_only(value: int) -> None:
    containers: list[FakeContainer] = []
    duel = play(at(2, 1, lambda _: action(2, 1, value)), containers=containers)
    match = duel.record.matches[1]
    assert faults(duel) == {2: (0, "illegal_action")}
    assert (match.outcome, match.scores) == (Outcome.PLAYER_2, (-1.0, 1.0))
    assert str(value) in match.error
    assert len(containers) == 2


def test_a_full_column_is_refused_by_the_game_not_by_the_player() -> None:
    always_0: Answerer = lambda a: a.good_answer() if a.kind is Kind.END else action(a.match, a.sequence, 0)  # noqa: E731
    other: Answerer = lambda a: a.good_answer() if a.kind is Kind.END else action(a.match, a.sequence, 0)  # noqa: E731
    duel = play(always_0, other, matches=2)
    # Alternating discs fill column 0, so the seventh disc, seat 0's fourth, has no room.
    assert [m.error_code for m in duel.record.matches] == ["illegal_action"] * 2
    assert [m.faulty_player for m in duel.record.matches] == [0, 1]


def test_a_reported_exception_forfeits_with_its_text_and_the_player_goes_on() -> None:
    raised = at(1, 1, lambda _: text_answer(Kind.ERROR, 1, 1, "ValueError: no\x00 idea\nTraceback"))
    duel = play(raised)
    assert faults(duel) == {1: (0, "player_raised")}
    assert duel.record.matches[0].error == "The player raised an exception: ValueError: no idea"
    assert "Traceback" in duel.player_logs[0]


def test_an_answer_that_is_no_integer_forfeits_as_illegal() -> None:
    duel = play(at(1, 0, lambda _: text_answer(Kind.INVALID, 1, 0, "not float")))
    assert faults(duel) == {1: (0, "illegal_action")}
    assert duel.record.matches[0].error.endswith(": not float")


def test_a_failing_end_is_logged_and_never_punished() -> None:
    def answerer(asked: Asked) -> bytes:
        if asked.kind is Kind.END:
            return text_answer(Kind.ERROR, asked.match, asked.sequence, "OSError: cannot save")
        return asked.good_answer()

    duel = play(answerer)
    assert faults(duel) == {}
    assert "cannot save" in duel.log


def test_a_forfeit_costs_as_much_as_the_environment_says() -> None:
    quarto = get_spec("quarto-v1")
    duel = play(at(1, 0, lambda _: action(1, 0, -5)), spec=quarto, matches=1)
    assert duel.record.matches[0].scores == (-100.0, 100.0)


def test_matches_that_are_over_need_no_collector_to_be_forgotten() -> None:
    gc.collect()
    # Other tests may keep some matches alive, e.g. in the trace of a failure.
    kept = matches_in_memory()
    gc.disable()
    try:
        dying = at(3, 2, lambda _: None)
        duel = play([dying, mixed], last_valid, matches=40, parallel=8)
        left = [found for found in matches_in_memory() if not any(found is old for old in kept)]
    finally:
        gc.enable()
    assert duel.record.summary.match_count == 40
    # Matches of the last exchange may still be referenced.
    assert len(left) <= 8


def matches_in_memory() -> list[Match]:
    # isinstance can raise for a weak proxy.
    return [found for found in gc.get_objects() if type(found) is Match]
