"""Matches between a person and a player: with real players in local processes, and tables that play by a list."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from arena_kit.environment.partial import so_far
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.output import END, printed_in
from arena_kit.referee.sitting import PersonLeft, PlayedSitting, Sitting, SittingMove
from arena_kit.tests.playing import GOOD, LIMITS, player, stages

FIRST, SECOND = (0, 1), (1, 0)
"""The person's seat, as seats of a match."""
COUNTS = player(
    attributes="asked = 0",
    start="self.asked = 1\nprint('start', list(state), flush=True)",
    step="self.asked += 1\nprint('step', self.asked, prev_reward, flush=True)",
    end="print('end', prev_reward, flush=True)",
)


@dataclass
class ListTable:
    """A person with a list of moves, who then gives up for this reason, or leaves the match open."""

    actions: list[int]
    leaves: PlayerFault | None = None
    moves: list[SittingMove] = field(default_factory=list)
    asked: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def player_moved(self, move: SittingMove) -> None:
        self.moves.append(move)

    def still_wanted(self, *, is_persons_turn: bool) -> None:
        if is_persons_turn and not self.actions and self.leaves is not None:
            raise PersonLeft(self.leaves)


def board(
    source: str = GOOD,
    *,
    seats: tuple[int, int] = FIRST,
    environment: str = "tic-tac-toe-v2",
    opening: tuple[int, ...] = (),
) -> Sitting:
    return Sitting(
        get_spec(environment),
        lambda: stages().slot(0, source, LIMITS),
        seed=7,
        seats=seats,
        opening=opening,
        limits=LIMITS,
        clock=time.monotonic,
    )


def play_on(sitting: Sitting, table: ListTable, persons_seat: int = 0) -> PlayedSitting | None:
    """Play until the end, or until the person has no more moves."""
    while True:
        if (played := sitting.go_on(table.moves, table)) is not None:
            return played
        step, valid = sitting.awaited
        table.asked[step] = tuple(valid)
        if table.actions:
            table.moves.append(SittingMove(step, persons_seat, table.actions.pop(0)))
        elif table.leaves is None:
            return None


def sit(table: ListTable, source: str = GOOD, *, seats: tuple[int, int] = FIRST, **options: Any) -> PlayedSitting:
    played = play_on(board(source, seats=seats, **options), table, seats.index(0))
    assert played is not None
    return played


def replays(environment: str, record: MatchRecord) -> int:
    return len(list(replay(get_spec(environment), record)))


def test_a_person_beats_a_player_from_the_empty_board_and_the_record_can_be_replayed() -> None:
    table = ListTable([2, 4, 6])

    played = sit(table)

    record = played.record
    assert (record.actions, record.outcome, record.scores) == ((2, 0, 4, 1, 6), Outcome.PLAYER_1, (1.0, -1.0))
    assert (record.seats, record.move_counts, record.opening_count) == ((0, 1), (3, 2), 0)
    assert replays("tic-tac-toe-v2", record) == 6
    assert list(table.asked) == [0, 2, 4]
    assert table.asked[2] == (1, 3, 4, 5, 6, 7, 8)
    assert all(move.seconds > 0 for move in table.moves if move.seat == 1)


def test_the_player_moves_first_in_the_first_seat_and_goes_on_from_an_opening() -> None:
    played = sit(ListTable([5, 6]), seats=SECOND, opening=(4, 0, 8, 3))

    record = played.record
    assert (record.actions, record.opening_count) == ((4, 0, 8, 3, 1, 5, 2, 6), 4)
    assert (record.outcome, record.seats, record.move_counts) == (Outcome.PLAYER_1, (1, 0), (2, 2))


def test_a_player_that_is_kept_is_asked_only_what_is_new() -> None:
    sitting, table = board(COUNTS), ListTable([2])
    assert play_on(sitting, table) is None
    table.actions = [4, 6]

    played = play_on(sitting, table)

    assert played is not None
    printed = printed_in(played.log, 1)
    assert [printed[place].split()[0] for place in (0, 1, END)] == ["start", "step", "end"]
    assert (played.record.actions, printed[1].split()[1]) == ((2, 0, 4, 1, 6), "2")


def test_a_sitting_that_goes_on_elsewhere_has_a_fresh_player_that_is_asked_everything_again() -> None:
    before, left = ListTable([2]), board(COUNTS)
    assert play_on(left, before) is None
    left.close()
    after = ListTable([4, 6], moves=before.moves[:])

    played = sit(after, COUNTS)

    assert played.record.actions == (2, 0, 4, 1, 6)
    assert [move.action for move in after.moves] == [2, 0, 4, 1, 6]
    # Asked from `start` on; the move of before was not made twice.
    printed = printed_in(played.log, 1)
    assert [printed[place].split()[0] for place in (0, 1, END)] == ["start", "step", "end"]
    assert played.record.thinking_seconds[1] >= before.moves[1].seconds


def test_a_kept_sitting_goes_on_to_more_moves_and_not_to_fewer() -> None:
    sitting, table = board(), ListTable([2])
    play_on(sitting, table)
    assert sitting.goes_on_to([*table.moves, SittingMove(2, 0, 4)])
    assert not sitting.goes_on_to([])
    assert not sitting.goes_on_to([SittingMove(0, 0, 5)])
    sitting.close()


def test_a_move_that_was_stored_before_the_interruption_is_played_and_a_last_one_needs_no_player() -> None:
    moves = [SittingMove(step, step % 2, action) for step, action in enumerate((2, 0, 4, 1, 6))]

    played = sit(ListTable([], moves=moves), "this is no program")

    assert (played.record.outcome, played.record.actions) == (Outcome.PLAYER_1, (2, 0, 4, 1, 6))


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        (player(step="raise RuntimeError('out of ideas')"), PlayerFault.RAISED, "out of ideas"),
        (player(step="return 2"), PlayerFault.ILLEGAL_ACTION, "2 is not among"),
        (player(step="import os\nos._exit(3)"), PlayerFault.DIED, "ended in the middle"),
        (player(step="return 'left'"), PlayerFault.ILLEGAL_ACTION, "not valid here"),
    ],
)
def test_a_player_at_fault_forfeits_with_a_sentence(source: str, code: PlayerFault, words: str) -> None:
    record = sit(ListTable([2, 4, 6]), source).record

    assert (record.outcome, record.fault, record.faulty_player) == (Outcome.PLAYER_1, Fault.PLAYER, 1)
    assert record.error_code == code
    assert words in record.error
    assert replays("tic-tac-toe-v2", record) == 4


@pytest.mark.parametrize("fault", [PlayerFault.RESIGNED, PlayerFault.LEFT])
def test_a_person_who_gives_up_loses_and_the_player_is_told_the_end(fault: PlayerFault) -> None:
    played = sit(ListTable([2], fault), COUNTS)

    record = played.record
    assert (record.outcome, record.faulty_player, record.error_code) == (Outcome.PLAYER_2, 0, fault)
    assert record.actions == (2, 0)
    assert played.log.splitlines()[-1] == "end 0.0"


def test_both_move_at_once_in_pong_and_neither_waits_for_more_than_the_others_move() -> None:
    table = ListTable([2] * 30, PlayerFault.LEFT)

    record = sit(table, environment="pong-v1").record

    # The player's first valid action is 0, up; it is asked in every step, before the person has chosen.
    assert record.actions == (2, 0) * 30
    assert [move.step for move in table.moves if move.seat == 1] == list(range(30))
    assert record.move_counts == (30, 30)


def test_a_state_so_far_hides_a_choice_until_both_have_chosen_and_ignores_moves_that_are_not_valid() -> None:
    spec = get_spec("pong-v1")
    half = so_far(spec, seed=7, opening=(), moves={(0, 0): 2, (0, 1): 0, (1, 1): 0, (2, 0): 9})

    assert (half.steps, half.to_move, half.waiting) == ((((0, 2), (1, 0)),), (0, 1), (0,))
    assert half.frame["paddles"] == [0.55, 0.45]

    board = so_far(get_spec("tic-tac-toe-v2"), seed=7, opening=(4,), moves={(0, 1): 4, (1, 0): 0})
    assert (board.steps, board.waiting, list(board.valid[1])) == ((), (1,), [0, 1, 2, 3, 5, 6, 7, 8])


def test_a_player_that_dies_while_the_person_thinks_forfeits() -> None:
    dies = player(start="import threading, os\nthreading.Timer(0.2, lambda: os._exit(1)).start()")
    sitting, table = board(dies), ListTable([2])
    assert play_on(sitting, table) is None
    deadline = time.monotonic() + 30
    while (played := sitting.go_on(table.moves, table)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)

    assert (played.record.outcome, played.record.error_code) == (Outcome.PLAYER_1, PlayerFault.DIED)
