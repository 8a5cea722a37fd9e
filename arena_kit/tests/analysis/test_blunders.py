"""Positions before mistakes, with every move that holds, and players that are asked for their moves there."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from arena_kit.analysis import blunders as module
from arena_kit.analysis.blunders import Blunder, blunders, frame_at
from arena_kit.analysis.drill import Drilled, move_at
from arena_kit.analysis.positions import solve_match
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.records import MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.solver import NotSolved
from arena_kit.referee.faults import PlayerFault
from arena_kit.tests.playing import LIMITS, player, stages

SPEC = get_spec("tic-tac-toe")
CORNER_THEN_EDGE = MatchRecord(
    number=1, seed=7, seats=(0, 1), actions=(0, 1, 4, 8, 6, 2, 3), outcome=Outcome.PLAYER_1, scores=(1.0, -1.0)
)
"""The answer to the corner on the edge beside it loses by force."""
CORNER = Blunder(1, 1, 7, (0,), 1, (4,), (1, 2, 3, 5, 6, 7, 8), 0.5, 0.0)


def asked(source: str, blunder: Blunder = CORNER) -> Drilled:
    return move_at(SPEC, lambda: stages().slot(0, source, LIMITS), blunder, limits=LIMITS, clock=time.monotonic)


def test_a_mistake_becomes_a_position_with_all_moves_that_hold() -> None:
    found = blunders(SPEC, CORNER_THEN_EDGE, solve_match(SPEC, CORNER_THEN_EDGE))
    assert found[0] == CORNER
    assert [one.seat for one in found] == [1]
    frame, text = frame_at(SPEC, CORNER)
    assert frame
    assert text.count("X") + text.count("O") >= 1


def test_a_move_that_is_slower_than_the_best_one_holds_too() -> None:
    # Seat 0 has two in a row and plays elsewhere: the win that is left is no mistake, giving it away is.
    record = replace(CORNER_THEN_EDGE, actions=(0, 1, 4, 2, 3, 5, 8), scores=(1.0, -1.0))
    for one in blunders(SPEC, record, solve_match(SPEC, record)):
        assert not set(one.holding) & set(one.losing)
        assert one.played in one.losing
        assert one.before is not None
        assert one.before > one.after


def test_an_overlooked_threat_is_a_position_whose_value_is_unknown() -> None:
    spec = get_spec("connect-four")
    record = MatchRecord(
        number=1, seed=1, seats=(0, 1), actions=(3, 3, 0, 3, 0, 3, 1, 3), outcome=Outcome.PLAYER_2, scores=(-1.0, 1.0)
    )
    found = blunders(spec, record, solve_match(spec, record, nodes=2000))
    assert found == [Blunder(6, 0, 1, (3, 3, 0, 3, 0, 3), 1, (3,), (0, 1, 2, 4, 5, 6), None, 0.0, 1)]
    assert [found[0].is_found(action) for action in (3, 1)] == [True, False]


def test_a_move_that_the_solver_cannot_judge_is_in_neither_list(monkeypatch: pytest.MonkeyPatch) -> None:
    class Short:
        def at(self, ply: int) -> object:
            raise NotSolved

    positions = solve_match(SPEC, CORNER_THEN_EDGE)
    monkeypatch.setattr(module, "match_solver", lambda *_: Short())
    first = blunders(SPEC, CORNER_THEN_EDGE, positions)[0]
    assert (first.holding, first.losing) == ((4,), (1,))
    assert [first.is_found(action) for action in (4, 1, 2)] == [True, False, None]


@pytest.mark.parametrize(("action", "is_found"), [(4, True), (1, False), (8, False)])
def test_a_player_is_asked_for_one_move_in_the_position(action: int, is_found: bool) -> None:
    found = asked(player(start=f"return {action}"))
    assert (found.action, found.is_found, found.error_code) == (action, is_found, "")


def test_a_player_that_fails_has_not_found_the_move() -> None:
    found = asked(player(start="raise ValueError('no idea')"))
    assert (found.action, found.is_found) == (None, False)
    assert found.error_code == PlayerFault.RAISED
    assert "no idea" in found.error


def test_a_position_with_another_seat_to_move_is_refused() -> None:
    with pytest.raises(ArenaEnvironmentError, match="not the turn of seat 1"):
        asked(player(), replace(CORNER, seat=0))
