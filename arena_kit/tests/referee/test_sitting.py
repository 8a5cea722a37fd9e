"""Matches between a person and a player: with real players in local processes, and tables that play by a list."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from arena_kit.environment.partial import so_far
from arena_kit.environment.records import Fault, MatchRecord, Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import replay
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.output import END, printed_in
from arena_kit.referee.sitting import PersonLeft, PlayedSitting, SittingMove, run_sitting
from arena_kit.tests.playing import GOOD, LIMITS, player, stages

FIRST, SECOND = (0, 1), (1, 0)
"""The person's seat, as seats of a match."""
COUNTS = player(
    attributes="asked = 0",
    start="self.asked = 1\nprint('start', list(state), flush=True)",
    step="self.asked += 1\nprint('step', self.asked, prev_reward, flush=True)",
    end="print('end', prev_reward, flush=True)",
)


class Interrupted(Exception):
    """This worker has to stop."""


@dataclass
class ListTable:
    """A person with a list of moves; `then` is called when it is used up."""

    actions: list[int]
    then: Callable[[], None] = lambda: None
    moves: list[SittingMove] = field(default_factory=list)
    asked: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    persons_seat: int = 0

    def persons_move(self, step: int, valid: Sequence[int], seconds: float) -> int | None:
        self.asked.append((step, tuple(valid)))
        if not self.actions:
            self.then()
            return None
        action = self.actions.pop(0)
        self.moves.append(SittingMove(step, self.persons_seat, action))
        return action

    def player_moved(self, move: SittingMove) -> None:
        self.moves.append(move)

    def still_wanted(self) -> None:
        pass


def sit(
    table: ListTable,
    source: str = GOOD,
    *,
    seats: tuple[int, int] = FIRST,
    environment: str = "tic-tac-toe-v2",
    opening: tuple[int, ...] = (),
    moves: Sequence[SittingMove] = (),
) -> PlayedSitting:
    table.persons_seat = seats.index(0)
    spec = get_spec(environment)
    return run_sitting(
        spec,
        lambda: stages().slot(0, source, LIMITS),
        table,
        seed=7,
        seats=seats,
        opening=opening,
        moves=moves,
        limits=LIMITS,
        clock=time.monotonic,
    )


def replays(environment: str, record: MatchRecord) -> int:
    return len(list(replay(get_spec(environment), record)))


def test_a_person_beats_a_player_from_the_empty_board_and_the_record_can_be_replayed() -> None:
    table = ListTable([2, 4, 6])

    played = sit(table)

    record = played.record
    assert (record.actions, record.outcome, record.scores) == ((2, 0, 4, 1, 6), Outcome.PLAYER_1, (1.0, -1.0))
    assert (record.seats, record.move_counts, record.opening_count) == ((0, 1), (3, 2), 0)
    assert replays("tic-tac-toe-v2", record) == 6
    assert [step for step, _ in dict(table.asked).items()] == [0, 2, 4]
    assert dict(table.asked)[2] == (1, 3, 4, 5, 6, 7, 8)
    assert all(move.seconds > 0 for move in table.moves if move.seat == 1)


def test_the_player_moves_first_in_the_first_seat_and_goes_on_from_an_opening() -> None:
    played = sit(ListTable([5, 6]), seats=SECOND, opening=(4, 0, 8, 3))

    record = played.record
    assert (record.actions, record.opening_count) == ((4, 0, 8, 3, 1, 5, 2, 6), 4)
    assert (record.outcome, record.seats, record.move_counts) == (Outcome.PLAYER_1, (1, 0), (2, 2))


def test_a_sitting_that_was_interrupted_goes_on_with_a_fresh_player_that_is_asked_everything_again() -> None:
    def stop() -> None:
        raise Interrupted

    before = ListTable([2], then=stop)
    with pytest.raises(Interrupted):
        sit(before, COUNTS)
    after = ListTable([4, 6])

    played = sit(after, COUNTS, moves=before.moves)

    assert played.record.actions == (2, 0, 4, 1, 6)
    assert [move.action for move in after.moves] == [4, 1, 6]
    # Asked from `start` on; the move of before was not made twice.
    printed = printed_in(played.log, 1)
    assert [printed[place].split()[0] for place in (0, 1, END)] == ["start", "step", "end"]
    assert played.record.thinking_seconds[1] >= before.moves[1].seconds


def test_a_move_that_was_stored_before_the_interruption_is_played_and_a_last_one_needs_no_player() -> None:
    moves = [SittingMove(step, step % 2, action) for step, action in enumerate((2, 0, 4, 1, 6))]

    played = sit(ListTable([]), "this is no program", moves=moves)

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
    def leave() -> None:
        raise PersonLeft(fault)

    played = sit(ListTable([2], then=leave), COUNTS)

    record = played.record
    assert (record.outcome, record.faulty_player, record.error_code) == (Outcome.PLAYER_2, 0, fault)
    assert record.actions == (2, 0)
    assert played.log.splitlines()[-1] == "end 0.0"


def test_both_move_at_once_in_pong_and_neither_waits_for_more_than_the_others_move() -> None:
    def leave() -> None:
        if len(table.moves) == 61:
            raise PersonLeft(PlayerFault.LEFT)

    table = ListTable([2] * 30, then=leave)

    record = sit(table, environment="pong-v1").record

    # The player's first valid action is 0, up; 30 whole steps, and the player's answer to the 31st is not played.
    assert record.actions == (2, 0) * 30
    assert [move.action for move in table.moves if move.seat == 1] == [0] * 31
    assert record.move_counts == (30, 31)


def test_a_state_so_far_hides_a_choice_until_both_have_chosen_and_ignores_moves_that_are_not_valid() -> None:
    spec = get_spec("pong-v1")
    half = so_far(spec, seed=7, opening=(), moves={(0, 0): 2, (0, 1): 0, (1, 1): 0, (2, 0): 9})

    assert (half.steps, half.to_move, half.waiting) == ((((0, 2), (1, 0)),), (0, 1), (0,))
    assert half.frame["paddles"] == [0.55, 0.45]

    board = so_far(get_spec("tic-tac-toe-v2"), seed=7, opening=(4,), moves={(0, 1): 4, (1, 0): 0})
    assert (board.steps, board.waiting, list(board.valid[1])) == ((), (1,), [0, 1, 2, 3, 5, 6, 7, 8])


def test_a_player_that_talks_while_the_person_thinks_forfeits() -> None:
    talks = player(start="import threading, os\nthreading.Timer(0.2, lambda: os._exit(1)).start()")
    waits = ListTable([2])
    deadline = time.monotonic() + 30

    def wait() -> None:
        assert time.monotonic() < deadline
        time.sleep(0.02)

    record = sit(replace(waits, then=wait), talks).record

    assert (record.outcome, record.error_code) == (Outcome.PLAYER_1, PlayerFault.DIED)
