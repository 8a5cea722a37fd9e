"""Sittings: a worker plays the moves of a submission, and leaves the board until the person has moved."""

from __future__ import annotations

import threading
import time

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from arena_kit.environment.records import DuelRecord
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.sitting import PersonLeft, PlayedSitting, SittingMove
from arena_kit.referee.sitting import Sitting as Board
from core.jobs.artifacts import artifacts_stored
from core.jobs.lease import Lease
from core.jobs.log import log_stage
from core.models import Sitting
from core.sittings.selectors import is_abandoned, moves_of, opening_of
from core.sittings.services import sitting_await_person, sitting_player_move, sitting_succeed
from duel_runner.boards import Boards
from duel_runner.makeable import if_makeable
from duel_runner.rules import rules
from duel_runner.single import player_start
from duel_runner.workplace import IDLE_SECONDS, workplace_of_this_worker

LOOK_SECONDS = 1.0
"""Seconds between two looks, while a player thinks, whether the person has resigned."""
_boards: Boards | None = None
_creating = threading.Lock()


class RowTable:
    """The table of a sitting whose moves are rows."""

    def __init__(self, sitting: Sitting, lease: Lease) -> None:
        self._sitting, self._lease = sitting, lease
        self._looked_at = float("-inf")

    def player_moved(self, move: SittingMove) -> None:
        """Store a move of the submission."""
        sitting_player_move(sitting=self._sitting, move=move)

    def still_wanted(self, *, is_persons_turn: bool) -> None:
        """Raise what ends the worker's time at the board, or PersonLeft."""
        self._lease.raise_if_lost()
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        row = Sitting.objects.values_list("resigned_at", "persons_turn_at")
        resigned_at, persons_turn_at = row.get(pk=self._sitting.pk)
        if resigned_at is not None:
            raise PersonLeft(PlayerFault.RESIGNED)
        if is_persons_turn and is_abandoned(persons_turn_at, now=timezone.now()):
            raise PersonLeft(PlayerFault.LEFT)


def boards_of_this_worker() -> Boards:
    """Return the boards at which players of this process wait for people, created on first use."""
    global _boards  # noqa: PLW0603  # one per process
    with _creating:
        if _boards is None:
            _boards = Boards(most=settings.PLAYER_CONTAINERS["warm"], idle_seconds=IDLE_SECONDS)
        return _boards


@if_makeable
def play_sitting(sitting: Sitting, lease: Lease) -> None:
    """Play a sitting on until its end, or until the person is to move."""
    boards = boards_of_this_worker()
    played = _play(sitting, lease, boards)
    if played is None:
        boards.trim()
        return
    log_stage("store")
    # The database may have closed the connection meanwhile; the result is written next.
    close_old_connections()
    names = (sitting.persons_name, str(sitting.submission))
    record = DuelRecord(rules(sitting).id, sitting.seed, names, (played.record,))
    digests = ("", sitting.submission.image_digest)
    with artifacts_stored(job=sitting, record=record, player_logs=("", played.log), digests=digests) as artifacts:
        sitting_succeed(sitting=sitting, record=record, artifacts=artifacts, log=lease.text)


def _play(sitting: Sitting, lease: Lease, boards: Boards) -> PlayedSitting | None:
    """Return the result at the end; else leave the board. Raises PlatformFault, StaleJob and WorkerStopped."""
    moves = moves_of(sitting)
    board = boards.take(sitting.pk)
    if board is not None and not board.goes_on_to(moves):
        board.close()
        board = None
    if board is None:
        board = _board(sitting, lease)
    try:
        log_stage("play")
        played = board.go_on(moves, RowTable(sitting, lease))
        if played is None:
            step, valid = board.awaited
            # First, because another thread may have the next move at once.
            boards.keep(sitting.pk, board)
            sitting_await_person(sitting=sitting, step=step, valid=valid, log=lease.text)
    except BaseException:
        boards.take(sitting.pk)
        board.close()
        raise
    return played


def _board(sitting: Sitting, lease: Lease) -> Board:
    """Return the board of a sitting without its player, which `go_on` starts."""
    submission, spec = sitting.submission, rules(sitting)
    launch = player_start(submission, lease)
    lease.log(f"{sitting}: {spec.id}, sandbox {workplace_of_this_worker().sandbox.name}.")
    return Board(
        spec,
        launch,
        seed=sitting.seed,
        seats=sitting.seats,
        opening=opening_of(sitting),
        limits=submission.agent.environment.limits,
        clock=time.monotonic,
    )
