from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena_kit.environment.protocol import IllegalAction, MatchOver
from arena_kit.environment.registry import get_spec
from environments.quarto.environment import Quarto
from environments.quarto.rules import LINES, winning_line
from environments.quarto.words import piece_name

SPEC = get_spec("quarto")
# (pieces in order, their cells): full boards without a line before the sixteenth piece.
FULL_WITH_LINE = (
    [15, 0, 12, 10, 11, 7, 9, 8, 1, 5, 2, 14, 13, 4, 3, 6],
    [4, 11, 12, 2, 10, 9, 8, 1, 13, 0, 15, 7, 5, 14, 3],
)
FULL_DRAW = (
    [15, 7, 11, 12, 0, 9, 6, 8, 5, 3, 2, 4, 1, 10, 13, 14],
    [5, 2, 9, 1, 3, 15, 12, 4, 8, 14, 0, 13, 7, 6, 10],
)


def played(*moves: tuple[int, int]) -> Quarto:
    """Play the moves, pairs of (cell, next piece)."""
    environment = Quarto()
    environment.reset(0)
    for cell, piece in moves:
        environment.step({environment.to_move[0]: 16 * cell + piece})
    return environment


def order(pieces: list[int], cells: list[int]) -> list[tuple[int, int]]:
    """Return the moves that put the pieces, of which the first is 15, on the cells one after another."""
    return list(zip(cells, pieces[1:], strict=False))


def with_line(pieces: list[int]) -> bool:
    """Return whether four pieces share a trait, by comparing each trait."""
    return any(len({piece >> trait & 1 for piece in pieces}) == 1 for trait in range(4))


def last_line(*, completed: bool) -> list[tuple[int, int]]:
    """Return fifteen moves without a line, after which the last piece completes a line or not."""
    pieces, cells = FULL_WITH_LINE if completed else FULL_DRAW
    return order(pieces, cells)


def test_the_state_is_sixteen_cells_and_the_piece_in_hand() -> None:
    assert list(played().observe(0).observation) == [-1] * 16 + [15]
    assert list(played((5, 3)).observe(1).observation) == [-1] * 5 + [15] + [-1] * 10 + [3]


def test_an_action_names_the_cell_and_the_next_piece() -> None:
    valid = list(played((5, 3)).observe(1).valid_actions)
    cells = [cell for cell in range(16) if cell != 5]
    pieces = [piece for piece in range(15) if piece != 3]
    assert valid == [16 * cell + piece for cell in cells for piece in pieces]


@pytest.mark.parametrize(
    "action",
    [16 * 5 + 4, 16 * 6 + 3, 16 * 6 + 15, -1, -(1 << 70), 256, 1 << 70],
    ids=["taken cell", "piece in hand", "piece on the board", "minus one", "far below", "no such cell", "far above"],
)
def test_an_action_that_is_not_valid_changes_nothing(action: int) -> None:
    environment = played((5, 3))
    before = environment.frame()
    with pytest.raises(IllegalAction):
        environment.step({1: action})
    assert environment.frame() == before


@pytest.mark.parametrize("actions", [{0: 16 * 6 + 4}, {}], ids=["wrong seat", "no action"])
def test_only_the_seat_to_move_can_move(actions: dict[int, int]) -> None:
    with pytest.raises(IllegalAction):
        played((5, 3)).step(actions)


def test_four_pieces_that_share_a_trait_win_a_hundred() -> None:
    environment = played((0, 14), (1, 13), (2, 12))
    assert environment.frame()["to_move"] == 1
    assert environment.step({1: 16 * 3 + 0}) == (-100.0, 100.0)
    assert environment.frame()["line"] == [0, 1, 2, 3]
    assert (environment.frame()["winner"], environment.to_move) == (1, ())
    with pytest.raises(MatchOver):
        environment.step({0: 16 * 4 + 1})


def test_a_square_does_not_win() -> None:
    environment = played((0, 14), (1, 13), (4, 12))
    assert environment.step({1: 16 * 5 + 0}) == (0.0, 0.0)


def test_four_that_lack_a_trait_win_too() -> None:
    assert winning_line([0, 2, 4, 6] + [-1] * 12, 1) == (0, 1, 2, 3)


@given(st.permutations(range(16)), st.sampled_from(LINES))
def test_a_line_wins_exactly_when_its_pieces_share_a_trait(pieces: list[int], line: tuple[int, ...]) -> None:
    cells = [-1] * 16
    for cell, piece in zip(line, pieces, strict=False):
        cells[cell] = piece
    assert winning_line(cells, line[2]) == (line if with_line(pieces[:4]) else ())
    cells[line[1]] = -1
    assert winning_line(cells, line[2]) == ()


def test_the_last_but_one_piece_leaves_two_actions() -> None:
    environment = played(*last_line(completed=False)[:-1])
    assert len(environment.observe(0).valid_actions) == 2
    assert environment.to_move == (0,)


def test_handing_over_the_last_piece_loses_when_it_completes_a_line() -> None:
    *before, (cell, piece) = last_line(completed=True)
    environment = played(*before)
    assert environment.step({0: 16 * cell + piece}) == (-100.0, 100.0)
    frame = environment.frame()
    assert (frame["winner"], frame["over"], frame["hand"], frame["reserve"]) == (1, True, None, [])
    assert frame["automatic"] in frame["line"]
    assert frame["last"] == cell


def test_handing_over_the_last_piece_draws_when_it_completes_none() -> None:
    *before, (cell, piece) = last_line(completed=False)
    environment = played(*before)
    assert environment.step({0: 16 * cell + piece}) == (0.0, 0.0)
    assert -1 not in environment.frame()["cells"]
    assert environment.observe(1).observation[16] == -1
    assert environment.text().endswith("Draw.")


@given(st.lists(st.integers(0, 10**6), min_size=16, max_size=16))
@settings(max_examples=150)
def test_random_matches_agree_with_a_plain_reading_of_the_rules(choices: list[int]) -> None:
    environment = played()
    board: dict[int, int] = {}
    hand = 15
    for number, choice in enumerate(choices):
        mover = number % 2
        assert environment.frame()["to_move"] == mover
        valid = environment.observe(mover).valid_actions
        action = valid[choice % len(valid)]
        board[action // 16], hand = hand, action % 16
        rewards = environment.step({mover: action})
        won = any(all(c in board for c in line) and with_line([board[c] for c in line]) for line in LINES)
        factor = 1
        if not won and len(board) == 15:
            board[next(cell for cell in range(16) if cell not in board)] = hand
            won = any(with_line([board[c] for c in line]) for line in LINES)
            factor = -1
        reward = 100.0 * factor if won else 0.0
        assert rewards == ((reward, -reward) if mover == 0 else (-reward, reward))
        assert list(environment.observe(0).observation[:16]) == [board.get(cell, -1) for cell in range(16)]
        if won or len(board) == 16:
            assert environment.to_move == ()
            return
    raise AssertionError("a match has at most fifteen moves")


def test_the_text_says_every_piece_by_its_traits() -> None:
    assert played((5, 3)).text().splitlines() == [
        "Row 1: a1 to d1 free.",
        "Row 2: a2 free, b2 large dark hollow round, c2 free, d2 free.",
        "Row 3: a3 to d3 free.",
        "Row 4: a4 to d4 free.",
        "Last move: the large dark hollow round on b2.",
        "In hand: the small dark solid round.",
        "Left:",
        "small light: solid square, hollow square, solid round, hollow round.",
        "small dark: solid square, hollow square, hollow round.",
        "large light: solid square, hollow square, solid round, hollow round.",
        "large dark: solid square, hollow square, solid round.",
        "The second seat to move.",
    ]


def test_the_text_of_a_full_board_has_sixteen_pieces_and_no_numbers_for_them() -> None:
    text = played(*last_line(completed=True)).text()
    board = "".join(text.splitlines()[:4])
    assert {name for piece in range(16) if (name := piece_name(piece)) in board} == {*map(piece_name, range(16))}
    assert "free" not in text
    assert "Left" not in text
    assert re.search(r"^The last piece, the \w+ \w+ \w+ \w+, went on [a-d][1-4] by itself\.$", text, re.MULTILINE)
    assert not re.search(r"[01]{4}", text)


def test_the_text_changes_neither_frames_nor_the_version_of_the_rules() -> None:
    assert SPEC.id == "quarto-v2"
    assert played((5, 3)).frame() == {
        "cells": [-1] * 5 + [15] + [-1] * 10,
        "hand": 3,
        "reserve": [0, 1, 2, *range(4, 15)],
        "to_move": 1,
        "last": 5,
        "automatic": None,
        "line": [],
        "winner": None,
        "over": False,
    }


def test_the_picture_marks_the_last_piece_and_the_winning_line() -> None:
    running = SPEC.render(played((5, 3)).frame())
    won = SPEC.render(played((0, 14), (1, 13), (2, 12), (3, 0)).frame())
    assert (running.count('class="glow"'), running.count('class="mark"')) == (1, 0)
    assert won.count('class="mark"') == 4
    assert "<desc>The second seat has won.</desc>" in won


def test_the_picture_names_the_piece_in_hand_by_its_traits() -> None:
    picture = SPEC.render(played((5, 3)).frame())
    assert ">small dark<" in picture
    assert ">solid round<" in picture
    assert not re.search(r">[01]{4}<", picture)
