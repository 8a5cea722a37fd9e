from __future__ import annotations

import contextlib
import copy
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.analysis.positions import solve_match
from arena_kit.environment.info import read_info
from arena_kit.environment.openings import play_opening
from arena_kit.environment.protocol import BrokenEnvironment, Environment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.server.client import close_servers
from arena_kit.environment.solver import NotSolved, Solution, solver_of
from arena_kit.referee.play import run_match
from arena_kit.tests.chance import Chance

PLENTY = 1_000_000


def after(game: str, actions: list[int]) -> Environment:
    environment = get_spec(game).make()
    environment.reset(0)
    play_opening(environment, tuple(actions))
    return environment


def solved(game: str, actions: list[int], nodes: int = PLENTY) -> Solution:
    solver = solver_of(get_spec(game), nodes)
    assert solver is not None
    return solver.solve(after(game, actions))


def late_positions(game: str, plies: int, count: int) -> Iterator[Environment]:
    """Yield positions after so many random moves, in which the match goes on."""
    rng = random.Random(20261126)
    found = 0
    while found < count:
        environment = after(game, [])
        for _ in range(plies):
            if not environment.to_move:
                break
            environment.step({environment.to_move[0]: rng.choice(environment.observe(0).valid_actions)})
        if environment.to_move:
            found += 1
            yield environment


def by_trying_everything(environment: Environment) -> Solution:
    """Solve a position by playing every line to its end, by the rules of the environment alone."""
    (seat,) = environment.to_move
    results = {}
    for action in environment.observe(seat).valid_actions:
        next_one = copy.deepcopy(environment)
        rewards = next_one.step({seat: action})
        if next_one.to_move:
            rest = by_trying_everything(next_one)
            sign = 1 if next_one.to_move == (seat,) else -1
            results[action] = (sign * rest.value, rest.plies + 1)
        else:
            results[action] = ((rewards[seat] > 0) - (rewards[seat] < 0), 1)

    def worth(result: tuple[int, int]) -> tuple[int, int]:
        return result[0], -result[0] * result[1]

    best = max(results.values(), key=worth)
    return Solution(*best, tuple(action for action, found in results.items() if worth(found) == worth(best)))


@pytest.mark.parametrize(
    ("game", "plies", "count"), [("tic-tac-toe", 3, 12), ("connect-four", 35, 25), ("quarto", 12, 25)]
)
def test_a_solver_says_what_trying_every_line_says(game: str, plies: int, count: int) -> None:
    spec = get_spec(game)
    solver = solver_of(spec, PLENTY)
    assert solver is not None

    for environment in late_positions(game, plies, count):
        assert solver.solve(environment) == by_trying_everything(environment), environment.text()


@pytest.mark.parametrize(
    ("columns", "value", "plies"),
    [
        # From the test set of Pascal Pons, whose scores are 1 for a win with the last stone; columns count from 1.
        ("2252576253462244111563365343671351441", -1, 4),
        ("7422341735647741166133573473242566", 1, 7),
        ("23163416124767223154467471272416755633", 0, 4),
        ("65214673556155731566316327373221417", -1, 6),
    ],
)
def test_connect_four_agrees_with_a_known_solver(columns: str, value: int, plies: int) -> None:
    found = solved("connect-four", [int(column) - 1 for column in columns])

    assert (found.value, found.plies) == (value, plies)


def test_a_solver_changes_no_environment() -> None:
    for game, actions in (("tic-tac-toe", [4]), ("connect-four", [3, 3, 2, 4]), ("quarto", [83])):
        environment = after(game, actions)
        before = environment.frame()
        solver = solver_of(get_spec(game), 100)
        assert solver is not None
        with contextlib.suppress(NotSolved):
            solver.solve(environment)

        assert environment.frame() == before


@pytest.mark.parametrize("game", ["connect-four", "quarto"])
def test_a_position_that_is_too_far_from_the_end_is_not_solved(game: str) -> None:
    with pytest.raises(NotSolved):
        solved(game, [], nodes=500)


def test_an_environment_from_outside_has_no_solver_here_and_one_without_the_key_none() -> None:
    spec = get_spec("tic-tac-toe")

    assert solver_of(replace(spec, is_outside=True), PLENTY) is None
    assert solver_of(replace(spec, solver=""), PLENTY) is None
    with pytest.raises(ValueError, match="solver: is for environments with two seats"):
        replace(get_spec("cart-pole"), solver="solver:Solver").validate()


LATE = """
from arena_kit.environment.solver import NotSolved
Whole = Solver
class Solver(Whole):
    def solve(self, environment):
        found = super().solve(environment)
        if found.plies > 1:
            raise NotSolved
        return found
"""


def test_the_solver_of_an_organisers_folder_runs_in_the_server_and_says_the_same(tmp_path: Path) -> None:
    ours = get_spec("tic-tac-toe")
    folder = Path(shutil.copytree(ours.folder, tmp_path / "own"))
    solver = folder / "solver.py"
    solver.write_text(solver.read_text() + "\nimport sys\nassert 'pytest' not in sys.modules\n")
    own = replace(read_info(folder / "info.yml"), is_outside=True)
    record = run_match(ours, (Chance(1), Chance(2)), 3)
    try:
        assert solve_match(own, record) == solve_match(ours, record)
        solver.write_text(solver.read_text() + LATE)
        close_servers()
        late = solve_match(own, record)
        assert [position.value is None for position in late[-3:]] == [True, False, False]
        assert late[-2] == solve_match(ours, record)[-2]
        solver.write_text(solver.read_text() + "\nclass Solver:\n    def __init__(self, nodes):\n        1 / 0\n")
        close_servers()
        with pytest.raises(BrokenEnvironment, match="ZeroDivisionError"):
            solve_match(own, record)
    finally:
        close_servers()
