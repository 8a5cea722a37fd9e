"""What an environment from outside does wrong, or does slowly, is never the fault of a player."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena_kit.environment.info import read_info
from arena_kit.environment.openings import check_openings, opening_of
from arena_kit.environment.registry import get_spec
from arena_kit.environment.server import connection
from arena_kit.environment.server.client import close_servers
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.tests.duels import PATIENT, faults, play
from arena_kit.tests.environment.outside import FOLDERS
from arena_kit.tests.fake import Asked, action


@pytest.fixture(autouse=True)
def no_server_is_left() -> Iterator[None]:
    yield
    close_servers()
    opening_of.cache_clear()  # specs are equal whatever their folder holds


def nim(parent: Path, old: str = "", new: str = "") -> EnvironmentSpec:
    """Return the spec of a copy of Nim, in a server, with one part of its code replaced."""
    folder = Path(shutil.copytree(FOLDERS / "nim", parent / "nim"))
    code = (folder / "environment.py").read_text()
    assert old in code
    (folder / "environment.py").write_text(code.replace(old, new, 1) if old else code)
    return replace(read_info(folder / "info.yml"), is_outside=True)


class Clock:
    """A clock that also jumps ahead."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.mark.parametrize("parallel", [2, 8])
def test_players_do_not_pay_for_the_time_of_a_slow_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parallel: int
) -> None:
    clock, states = Clock(), connection.ServerConnection.states

    def slow(*arguments: Any) -> Any:
        clock.ahead += 100.0
        return states(*arguments)

    monkeypatch.setattr(connection.ServerConnection, "states", slow)
    limits = replace(PATIENT, move_seconds=50.0, bank_seconds=0.0, duel_seconds=1e6)

    duel = play(*(lambda asked: asked.good_answer(),) * 2, spec=nim(tmp_path), parallel=parallel, matches=8,
                limits=limits, clock=clock)  # fmt: skip

    assert faults(duel) == {}
    assert max(max(match.slowest_move_seconds) for match in duel.record.matches) < 50


OPENINGS = "openings: {plies: 1..2, from: random, decided: 'solver:is_decided'}\n"
SOLVER = """
import os, sys
def is_decided(environment):
    assert "pytest" not in sys.modules
    (left,) = environment.observe(0).observation
    return DO
"""


def test_a_solver_of_an_organiser_never_runs_in_this_process(tmp_path: Path) -> None:
    spec = nim(tmp_path)
    info = spec.folder / "info.yml"
    info.write_text(info.read_text() + OPENINGS)
    solver = spec.folder / "solver.py"
    solver.write_text(SOLVER.replace("DO", "left == 8"))
    spec = replace(read_info(info), is_outside=True)

    check_openings(spec)
    duel = play(lambda asked: asked.good_answer(), spec=spec, matches=20)

    openings = {match.actions[: match.opening_count] for match in duel.record.matches}
    assert len(openings) > 3
    assert not {(1,), (0, 0)} & openings, "8 stones are left after these"
    assert recheck_record(spec, duel.record) == []


@pytest.mark.parametrize(("does", "sentence"), [("os.abort()", "with the signal 6"), ("1 / 0", "ZeroDivisionError")])
def test_a_solver_that_fails_is_a_fault_of_the_platform(tmp_path: Path, does: str, sentence: str) -> None:
    spec = nim(tmp_path)
    info = spec.folder / "info.yml"
    info.write_text(info.read_text() + OPENINGS)
    (spec.folder / "solver.py").write_text(SOLVER.replace("DO", does))
    with pytest.raises(PlatformFault, match=sentence):
        play(lambda asked: asked.good_answer(), spec=replace(read_info(info), is_outside=True))


def test_an_opening_of_impossible_numbers_is_a_fault_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    # Another test may have asked for the openings of this game.
    opening_of.cache_clear()
    monkeypatch.setattr(connection.ServerConnection, "data", lambda *_: [1 << 80])
    with pytest.raises(PlatformFault, match="not a list of actions") as caught:
        play(lambda asked: asked.good_answer(), spec=replace(get_spec("connect-four"), is_outside=True))
    assert caught.value.code == "environment_failed"


VALID, REWARDS = "range(min(3, self._stones))", "return (0.0, 0.0)"
MOVERS = "return (self._seat,) if self._stones else ()"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (VALID, "range(min(3, self._stones)) if self._stones > 7 else ()", "no valid action"),
        (VALID, "[9]", "the action 9 is valid, but action_count is 3"),
        (VALID, "[-1]", "the action -1 is valid, but action_count is 3"),
        (REWARDS, "return (float('nan'), 0.0)", "rewards .* are not finite"),
        (REWARDS, "return (0.0, float('inf'))", "rewards .* are not finite"),
        (REWARDS, "return ()", "0 rewards for 2 seats"),
        (MOVERS, "return (2,) if self._stones else ()", r"the seats \(2,\) move"),
        (MOVERS, "return (0, 0) if self._stones else ()", r"the seats \(0, 0\) move"),
    ],
)
def test_a_broken_promise_of_an_environment_is_a_fault_of_the_platform(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(PlatformFault, match=sentence) as caught:
        play(lambda asked: asked.good_answer(), spec=nim(tmp_path, old, new))
    assert caught.value.code == "environment_failed"


@pytest.mark.parametrize(("does", "parallel"), [("1 / 0", 1), ("os.abort()", 1), ("os.abort()", 4)])
def test_a_valid_action_that_crashes_an_environment_names_its_match(tmp_path: Path, does: str, parallel: int) -> None:
    crash = f"import os\n        if action == 2: {does}\n        self._stones -= action + 1"
    spec = nim(tmp_path, "self._stones -= action + 1", crash)

    def crashing(asked: Asked) -> bytes:
        return (
            action(asked.match, asked.sequence, 2)
            if asked.match == 3 and len(asked.valid) == 3
            else asked.good_answer()
        )

    with pytest.raises(PlatformFault) as caught:
        play(crashing, spec=spec, matches=4,
             parallel=parallel)  # fmt: skip
    assert caught.value.code == "environment_failed"
    # A server that plays the steps of several matches at once does not say which of them it died in.
    assert 3 in caught.value.matches
    assert len(caught.value.matches) == 1 or parallel > 1
