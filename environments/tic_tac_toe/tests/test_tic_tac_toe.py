from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from arena_kit.environment.protocol import IllegalAction, MatchOver
from arena_kit.environment.registry import get_spec
from environments.tic_tac_toe.environment import TicTacToe
from environments.tic_tac_toe.rules import LINES, winning_line

SPEC = get_spec("tic-tac-toe")


def played(*cells: int) -> TicTacToe:
    environment = TicTacToe()
    environment.reset(0)
    for cell in cells:
        environment.step({environment.to_move[0]: cell})
    return environment


def test_the_state_is_nine_cells_and_the_player_to_move() -> None:
    assert list(played().observe(0).observation) == [0] * 9 + [1]
    assert list(played(4).observe(1).observation) == [0, 0, 0, 0, 1, 0, 0, 0, 0, -1]
    assert list(played(4, 0).observe(0).observation) == [-1, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert list(played(4, 0).observe(0).valid_actions) == [1, 2, 3, 5, 6, 7, 8]


def test_the_seats_take_turns() -> None:
    assert [played(*range(count)).to_move for count in range(3)] == [(0,), (1,), (0,)]


@pytest.mark.parametrize(
    ("cells", "last", "rewards"),
    [
        ((0, 3, 1, 4), 2, (1.0, -1.0)),
        ((0, 3, 1, 4, 8), 5, (-1.0, 1.0)),
        ((0, 1, 4, 2), 8, (1.0, -1.0)),
        ((0, 4, 2, 1, 7, 3, 5, 8), 6, (0.0, 0.0)),
    ],
    ids=["row of the first seat", "row of the second seat", "diagonal", "draw"],
)
def test_the_last_move_is_rewarded_and_ends_the_match(
    cells: Sequence[int], last: int, rewards: tuple[float, float]
) -> None:
    environment = played(*cells)
    assert environment.step({environment.to_move[0]: last}) == rewards
    assert environment.to_move == ()
    assert list(environment.observe(0).valid_actions) == []
    with pytest.raises(MatchOver):
        environment.step({0: 7})


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("mark", [1, -1])
def test_every_line_wins_whichever_cell_comes_last(line: tuple[int, int, int], mark: int) -> None:
    for cell in line:
        cells = [0] * 9
        for other in line:
            cells[other] = mark
        assert winning_line(cells, cell) == line


def test_all_positions_agree_with_a_plain_reading_of_the_rules() -> None:
    """Every order of the first five moves, which includes every early win of the first seat."""
    for cells in permutations(range(9), 5):
        environment = played(*cells[:4])
        rewards = environment.step({0: cells[4]})
        own = {cells[0], cells[2], cells[4]}
        assert rewards == ((1.0, -1.0) if any(own == set(line) for line in LINES) else (0.0, 0.0))


@pytest.mark.parametrize("actions", [{0: -1}, {0: -2}, {0: 9}, {0: 10**30}, {1: 3}, {}])
def test_an_action_outside_the_board_or_of_the_wrong_seat_changes_nothing(actions: dict[int, int]) -> None:
    environment = played(4, 0)
    before = environment.frame()
    with pytest.raises(IllegalAction):
        environment.step(actions)
    assert environment.frame() == before


def test_a_taken_cell_is_refused() -> None:
    with pytest.raises(IllegalAction, match="Cell 4 does not exist or is taken"):
        played(4).step({1: 4})


def test_what_was_observed_stays_as_it_was() -> None:
    environment = played(4)
    seen = environment.observe(1)
    environment.step({1: 0})
    assert list(seen.observation) == [0, 0, 0, 0, 1, 0, 0, 0, 0, -1]
    assert 0 in seen.valid_actions


def test_the_text_tells_board_last_move_and_result() -> None:
    assert played().text() == ". . .\n. . .\n. . .\nFree cells: 0, 1, 2, 3, 4, 5, 6, 7, 8.\nX to move."
    assert played(0, 3, 1, 4, 2).text() == "X X X\nO O .\n. . .\nLast move: X in row 1, column 3.\nX has won."
    assert played(0, 4, 2, 1, 7, 3, 5, 8, 6).text().endswith("\nDraw.")


def test_the_picture_marks_the_last_move_and_strikes_the_winning_line() -> None:
    running, won = (SPEC.render(played(*cells).frame()) for cells in ((4,), (0, 3, 1, 4, 2)))
    assert (running.count('class="glow"'), running.count('class="mark"')) == (1, 0)
    assert won.count('class="mark"') == 1
    assert "M62 62L258 62" in won
    assert "<desc>X has won.</desc>" in won
