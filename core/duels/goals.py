"""Shares to reach against a reference agent: the test that decides, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from arena_kit.ranking.sequential import SequentialState, SequentialTest
from core.duels.stopping import version_test
from core.models import Environment, JobState

TESTED = ("state", "test", "test_result", "matches_done", "player_1_wins", "player_2_errors", "draws")
"""The columns of a duel that its verdict follows from."""


class Tested(Protocol):
    """A duel, or its columns of TESTED."""

    @property
    def state(self) -> str: ...
    @property
    def test(self) -> Mapping[str, Any] | None: ...
    @property
    def test_result(self) -> Mapping[str, Any] | None: ...
    @property
    def matches_done(self) -> int: ...
    @property
    def player_1_wins(self) -> int: ...
    @property
    def player_2_errors(self) -> int: ...
    @property
    def draws(self) -> int: ...


def goal_test(environment: Environment, percent: int) -> SequentialTest:
    """Return the test of the promotion gate for a share of the points to reach, in percent."""
    return version_test(environment).reaching(percent / 100)


def goal_percent(duel: Tested) -> int | None:
    """Return the share that a duel tests, in percent; None for a duel that tests none."""
    share = None if duel.test is None else SequentialTest(**duel.test).share
    return None if share is None else round(100 * share)


def goal_reached(duel: Tested) -> bool | None:
    """Return whether the first player has reached the share that a duel tests; None before its end, and without one.

    Where the maximum of matches leaves the test undecided, the share of the points that was won decides.
    """
    percent = goal_percent(duel)
    if percent is None or duel.state != JobState.SUCCEEDED:
        return None
    match (duel.test_result or {}).get("state"):
        case SequentialState.ACCEPTED_H1:
            return True
        case SequentialState.ACCEPTED_H0:
            return False
    points = 2 * (duel.player_1_wins + duel.player_2_errors) + duel.draws
    return 100 * points >= percent * 2 * duel.matches_done
