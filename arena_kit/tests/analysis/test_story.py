from __future__ import annotations

from dataclasses import replace

import pytest

from arena_kit.analysis.mistakes import Mistake, decided_by, mistakes, worst
from arena_kit.analysis.overlooked import Overlooked, overlooked
from arena_kit.analysis.positions import Position, solve_match
from arena_kit.analysis.sentences import NOT_SOLVED, Story, story
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import ReplayMismatch

GAME = get_spec("tic-tac-toe")
NAMES = ("anna v1", "berta v2")


def lost_by_x(*, opening: int = 0) -> MatchRecord:
    """Return a match in which X gives a win away with move 5 and then the draw with move 7."""
    return MatchRecord(
        number=1,
        seed=1,
        seats=(1, 0),
        # X centre, O top; X bottom right, O top left; X middle left, O top right wins.
        actions=(4, 1, 8, 0, 3, 2),
        outcome=Outcome.PLAYER_1,
        scores=(1.0, -1.0),
        opening_count=opening,
    )


def told(record: MatchRecord) -> tuple[tuple[Position, ...], Story]:
    positions = solve_match(GAME, record)
    return positions, story(GAME, record, positions, NAMES)


def test_every_position_has_the_value_of_perfect_play_for_the_first_seat() -> None:
    positions, _ = told(lost_by_x())

    assert [position.value for position in positions] == [0, 0, 1, 1, 1, -1, -1]
    assert [position.plies for position in positions[-2:]] == [1, 0]
    assert positions[-1].to_move is None


def test_mistakes_are_moves_that_gave_something_away_and_the_openings_are_nobodys() -> None:
    record = lost_by_x()
    positions, _ = told(record)
    found = mistakes(record, positions)

    assert found == [Mistake(2, 1, 0, -1), Mistake(5, 0, 1, -1)]
    assert worst(found, 0) == [Mistake(5, 0, 1, -1)]
    assert decided_by(found, positions) == Mistake(5, 0, 1, -1)
    assert mistakes(lost_by_x(opening=2), positions) == [Mistake(5, 0, 1, -1)]


def test_sentences_name_moves_and_players_as_people_do() -> None:
    _, said = told(lost_by_x())

    assert said.verdict == (
        "The match was decided by move 5, the last mistake of berta v2. 2 moves gave something away."
    )
    assert said.turning_points[1].sentence == (
        "After move 5 (middle left), anna v1 can win at once; berta v2 could have forced a win with top right."
    )
    assert said.remarks[-1].sentence == "anna v1 has won."
    assert [remark.ply for remark in said.worst[0]] == [5]


def test_a_match_of_which_only_the_end_is_solved_blames_no_move_of_that_end_alone() -> None:
    record = lost_by_x()
    positions = [*solve_match(GAME, record)]
    end = [replace(positions[5], plies=9), positions[6]]
    unsolved = [replace(one, value=None, plies=None, best=()) for one in positions[:5]]
    assert story(GAME, record, [*unsolved, *end], NAMES).verdict == (
        "The positions before move 5 are not solved: the game can go on in too many ways. "
        "anna v1 could force a win from move 5 on. No later move gave anything away."
    )


def test_an_overlooked_threat_is_named_where_the_solver_sees_only_what_came_after() -> None:
    connect_four = get_spec("connect-four")
    record = MatchRecord(
        number=1, seed=1, seats=(0, 1), actions=(3, 3, 0, 3, 0, 3, 1, 3), outcome=Outcome.PLAYER_2, scores=(-1.0, 1.0)
    )
    positions = solve_match(connect_four, record, nodes=2000)
    assert [one.value for one in positions] == [*[None] * 7, -1, -1]
    assert overlooked(connect_four, record, positions) == Overlooked(7, 0, 1, (3,))
    assert story(connect_four, record, positions, NAMES).verdict == (
        "The positions before move 7 are not solved: the game can go on in too many ways. "
        "Move 7 (column 1) let berta v2 win at once; column 3 would have prevented that."
    )
    # What the arena played is no player's fault.
    assert overlooked(connect_four, replace(record, opening_count=7), positions) is None


def test_a_threat_that_wins_by_force_two_moves_later_is_named_too() -> None:
    connect_four = get_spec("connect-four")
    # Two in the middle of the bottom row are open on both sides, and the last column parries nothing.
    record = MatchRecord(
        number=1, seed=1, seats=(0, 1), actions=(0, 2, 0, 3, 6, 4, 0, 5), outcome=Outcome.PLAYER_2, scores=(-1.0, 1.0)
    )
    positions = solve_match(connect_four, record, nodes=2000)
    assert [one.plies for one in positions[-4:]] == [3, 2, 1, 0]
    # A third one in column 0 threatens to win first.
    assert overlooked(connect_four, record, positions) == Overlooked(5, 0, 3, (0, 1, 4, 5))
    assert (
        "Move 5 (column 6) let berta v2 force a win in 2 moves;"
        in story(connect_four, record, positions, NAMES).verdict
    )


def test_a_forfeited_match_is_told_up_to_the_forfeit() -> None:
    record = MatchRecord(
        number=1, seed=1, seats=(0, 1), actions=(4, 1), outcome=Outcome.PLAYER_1, scores=(1.0, -1.0),
        fault=Fault.PLAYER, faulty_player=1, error_code="player_raised",
    )  # fmt: skip
    positions, said = told(record)

    assert (positions[-1].value, positions[-1].to_move) == (1, 0)
    assert said.verdict == "The match ended by a forfeit. anna v1 can force a win in 3 moves."


def test_what_is_too_far_from_the_end_is_called_not_solved() -> None:
    spec = get_spec("connect-four")
    record = MatchRecord(
        number=1, seed=1, seats=(0, 1), actions=(0, 1, 0, 1, 0, 1, 0), outcome=Outcome.PLAYER_1, scores=(1.0, -1.0)
    )
    positions = solve_match(spec, record, nodes=100)
    said = story(spec, record, positions, NAMES)

    assert positions[0].value is None
    assert said.remarks[0].sentence == NOT_SOLVED
    assert said.verdict.startswith("The positions before move ")
    assert positions[-1].value == 1


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(ReplayMismatch, match="does not fit the rules"):
        solve_match(GAME, MatchRecord(1, 1, (0, 1), (4, 4), Outcome.DRAW, (0.0, 0.0)))
    with pytest.raises(ValueError, match="has no solver"):
        solve_match(get_spec("pong"), MatchRecord(1, 1, (0, 1), (), Outcome.DRAW, (0.0, 0.0)))
