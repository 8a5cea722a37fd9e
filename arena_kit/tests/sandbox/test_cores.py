"""Reserving a core for a duel."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from arena_kit.sandbox.cores import free_core

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no processes")


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Pretend that there are two cores; return the calls that set the affinity."""
    asked: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: asked.append(set(cores)))
    return asked


def test_each_duel_gets_a_core_of_its_own_and_the_next_one_none(tmp_path: Path, two_cores: list[set[int]]) -> None:
    with contextlib.ExitStack() as stack:
        cores = [stack.enter_context(free_core(tmp_path)) for _ in range(3)]
        assert cores == [0, 1, None]
        assert two_cores == [{0}, {1}]


def test_a_core_is_free_again_after_its_duel(tmp_path: Path, two_cores: list[set[int]]) -> None:
    for _ in range(2):
        with free_core(tmp_path) as core:
            assert core == 0
    assert two_cores == [{0}, {0, 1}] * 2


def test_a_core_is_given_back_when_the_duel_fails(tmp_path: Path, two_cores: list[set[int]]) -> None:
    with pytest.raises(ValueError, match="duel"), free_core(tmp_path):
        raise ValueError("duel")
    assert two_cores[-1] == {0, 1}
    with free_core(tmp_path) as core:
        assert core == 0


def test_with_one_core_there_is_nothing_to_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with free_core(tmp_path) as core:
        assert core is None
