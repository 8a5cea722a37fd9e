from __future__ import annotations

from dataclasses import replace

import pytest

from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import ReplayMismatch, replay
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.environment.playing import GAMES, match_record

SPEC = get_spec("tic-tac-toe-v1")
WON = MatchRecord(2, 0, (1, 0), (4, 0, 2, 1, 6), Outcome.PLAYER_2, (-1.0, 1.0))
"""Return a match in which seat 0, here player_2, completes the diagonal 2, 4, 6."""


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: str(spec.id))
@pytest.mark.parametrize("number", [1, 2])
def test_a_record_is_played_again_move_by_move(spec: EnvironmentSpec, number: int) -> None:
    record = match_record(spec, number, seed=3)
    steps = list(replay(spec, record))
    assert tuple(action for step in steps for _, action in step.moves) == record.actions
    assert tuple(steps[-1].scores[record.seats.index(player)] for player in (0, 1)) == record.scores
    assert steps[-1].frame["over"]
    assert steps == list(replay(spec, record))


def test_a_step_tells_who_played_what() -> None:
    steps = list(replay(SPEC, WON))
    assert (steps[0].seat, steps[0].action, steps[0].player, steps[0].moves) == (None, None, None, ())
    assert [(step.seat, step.action, step.player) for step in steps[1:3]] == [(0, 4, 1), (1, 0, 0)]
    assert [step.scores for step in steps[-2:]] == [(0.0, 0.0), (1.0, -1.0)]
    assert steps[-1].text.endswith("X has won.")


def test_a_forfeited_match_may_stop_anywhere() -> None:
    record = match_record(SPEC, forfeits=1)
    assert len(list(replay(SPEC, record))) == 3


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"actions": (4, 4)}, "Match 2 does not fit the rules of tic-tac-toe-v1: Cell 4"),
        ({"actions": (4, 9)}, "Cell 9 does not exist"),
        ({"actions": (4, -1)}, "Cell -1 does not exist"),
        ({"actions": (4, 0, 2, 1, 6, 3)}, "actions after its end"),
        ({"actions": (4, 0, 2, 1)}, "stops before its end without a fault"),
        ({"scores": (1.0, -1.0)}, "ends with other scores"),
        ({"seats": (0,)}, "does not seat 2 players"),
        ({"seats": (1, 1)}, "does not seat 2 players"),
    ],
)
def test_a_record_that_does_not_fit_the_rules_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ReplayMismatch, match=complaint):
        list(replay(SPEC, replace(WON, **change)))  # type: ignore[arg-type]  # any field


def test_the_states_before_the_mismatch_are_still_shown() -> None:
    steps = replay(SPEC, replace(WON, actions=(4, 4), fault=Fault.PLAYER, faulty_player=0))
    assert [next(steps).action, next(steps).action] == [None, 4]
    with pytest.raises(ReplayMismatch):
        next(steps)
