from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.environment.protocol import IllegalAction, MatchOver
from arena_kit.environment.registry import get_spec
from environments.connect_four.environment import ConnectFour
from environments.connect_four.rules import COLUMNS, ROWS

SPEC = get_spec("connect-four")
DRAW = tuple(
    [column for pair in ((0, 1), (2, 3), (4, 5)) for column in [*pair] * 2 + [*pair[::-1]] * 2 + [*pair] * 2] + [6] * 6
)
FOURS = [
    tuple((row + step * down) * COLUMNS + column + step * right for step in range(4))
    for row in range(ROWS)
    for column in range(COLUMNS)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    if row + 3 * down < ROWS and 0 <= column + 3 * right < COLUMNS
]


def played(*columns: int) -> ConnectFour:
    environment = ConnectFour()
    environment.reset(0)
    for column in columns:
        environment.step({environment.to_move[0]: column})
    return environment


def test_the_state_is_the_board_from_the_top_and_the_player_to_move() -> None:
    state = list(played(3, 3, 0).observe(1).observation)
    assert len(state) == 43
    assert {cell: value for cell, value in enumerate(state[:42]) if value} == {38: 1, 31: -1, 35: 1}
    assert state[42] == -1


def test_a_full_column_is_no_longer_valid() -> None:
    environment = played(*[2] * 6)
    assert list(environment.observe(0).valid_actions) == [0, 1, 3, 4, 5, 6]
    with pytest.raises(IllegalAction, match="Column 2 does not exist or is full"):
        environment.step({0: 2})


@pytest.mark.parametrize("actions", [{0: -1}, {0: -2}, {0: 7}, {0: 10**30}, {1: 3}, {}])
def test_an_action_outside_the_board_or_of_the_wrong_seat_changes_nothing(actions: dict[int, int]) -> None:
    environment = played(3, 3)
    before = environment.frame()
    with pytest.raises(IllegalAction):
        environment.step(actions)
    assert environment.frame() == before


@pytest.mark.parametrize(
    ("columns", "rewards", "line"),
    [
        ((0, 0, 1, 1, 2, 2, 3), (1.0, -1.0), [35, 36, 37, 38]),
        ((6, 0, 6, 0, 6, 0, 6), (1.0, -1.0), [20, 27, 34, 41]),
        ((6, 0, 6, 0, 6, 0, 1, 0), (-1.0, 1.0), [14, 21, 28, 35]),
        ((0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3), (1.0, -1.0), [17, 23, 29, 35]),
        ((6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3), (1.0, -1.0), [17, 25, 33, 41]),
        ((0, 6, 1, 6, 2, 6, 4, 5, 5, 0, 3), (1.0, -1.0), [35, 36, 37, 38, 39]),
    ],
    ids=["row", "column", "second seat", "rising diagonal", "falling diagonal", "five at once"],
)
def test_four_in_a_row_win_and_stand_in_the_frame(
    columns: tuple[int, ...], rewards: tuple[float, float], line: list[int]
) -> None:
    environment = played(*columns[:-1])
    assert environment.step({environment.to_move[0]: columns[-1]}) == rewards
    assert environment.frame()["line"] == line
    assert environment.frame()["winner"] == (0 if rewards[0] > 0 else 1)
    with pytest.raises(MatchOver):
        environment.step({0: 3})


def test_a_row_does_not_go_on_in_the_row_below() -> None:
    # 33 and 34 end one row, and 35 and 36 begin the next, so they are neighbours only in the list.
    environment = played(0, 5, 1, 6, 5, 3, 6)
    assert [cell for cell, mark in enumerate(environment.frame()["cells"]) if mark == 1] == [33, 34, 35, 36]
    assert environment.frame()["line"] == []
    assert not environment.frame()["over"]


def test_a_full_board_without_a_line_is_a_draw() -> None:
    environment = played(*DRAW[:-1])
    assert environment.frame()["to_move"] == 1
    assert environment.step({1: DRAW[-1]}) == (0.0, 0.0)
    assert environment.to_move == ()
    assert environment.text().endswith("Draw.")
    assert environment.frame()["winner"] is None


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**6), min_size=42, max_size=42))
@settings(max_examples=150)
def test_random_matches_agree_with_a_plain_reading_of_the_rules(choices: list[int]) -> None:
    environment = played()
    board: dict[int, int] = {}
    for number, choice in enumerate(choices):
        mark = 1 if number % 2 == 0 else -1
        column = environment.observe(0).valid_actions[choice % len(environment.observe(0).valid_actions)]
        cell = next(cell for cell in range(35 + column, -1, -7) if cell not in board)
        board[cell] = mark
        rewards = environment.step({number % 2: column})
        assert list(environment.observe(0).observation) == [*(board.get(cell, 0) for cell in range(42)), -mark]
        won = [line for line in FOURS if all(board.get(other) == mark for other in line)]
        assert rewards == ((float(mark), float(-mark)) if won else (0.0, 0.0))
        if won:
            assert set(environment.frame()["line"]) in [set(line) for line in won] or len(won) > 1
            break
        assert bool(environment.to_move) == (number < 41)


def test_the_text_tells_board_last_move_and_result() -> None:
    assert played(3, 4).text() == (
        ". . . . . . .\n" * 5
        + ". . . X O . .\n0 1 2 3 4 5 6\nLast move: O in column 4, 1 from the bottom.\nThe first seat (X) to move."
    )
    assert played(0, 0, 1, 1, 2, 2, 3).text().endswith("The first seat (X) has won.")


def test_the_picture_marks_the_last_piece_and_the_winning_line() -> None:
    empty, running, won = (SPEC.render(played(*c).frame()) for c in ((), (3,), (0, 0, 1, 1, 2, 2, 3)))
    assert [picture.count('class="mark"') for picture in (empty, running, won)] == [0, 1, 5]
    assert "<desc>The first seat has won.</desc>" in won
