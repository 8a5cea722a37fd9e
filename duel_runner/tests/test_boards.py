"""Which boards of people are kept between two moves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from arena_kit.referee.sitting import Sitting
from duel_runner import boards
from duel_runner.boards import Boards


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def board(name: str, closed: list[str]) -> Sitting:
    return cast("Sitting", SimpleNamespace(name=name, close=lambda: closed.append(name)))


def test_the_board_left_longest_ago_goes_first_and_none_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "memory_is_free", lambda: True)
    closed, clock = list[str](), Clock()
    kept = Boards(most=2, idle_seconds=300.0, clock=clock)
    for key, name in enumerate("abc"):
        kept.keep(key, board(name, closed))
    kept.trim()
    assert closed == ["a"]
    assert kept.take(1) is not None
    assert kept.take(1) is None

    clock.now = 300.0
    kept.keep(4, board("d", closed))
    kept.trim()
    assert closed == ["a", "c"]

    # Players that only wait are the first that a host short of memory can spare.
    monkeypatch.setattr(boards, "memory_is_free", lambda: False)
    kept.trim()
    assert closed == ["a", "c", "d"]
