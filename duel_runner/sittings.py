"""Sittings: a worker at the board with a person, for as long as the person moves."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django.db import close_old_connections
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from arena_kit.environment.records import DuelRecord
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.errors import PlatformFault
from arena_kit.log_context import bind
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.sitting import PersonLeft, PlayedSitting, SittingMove, run_sitting
from arena_kit.sandbox.base import Container
from arena_kit.sandbox.cores import pinned
from core.jobs.artifacts import artifacts_stored
from core.jobs.claims import is_line_waiting
from core.jobs.lease import Lease
from core.jobs.log import log_stage
from core.models import Sitting
from core.models import SittingMove as MoveRow
from core.sittings.selectors import is_abandoned, moves_of, opening_of
from core.sittings.services import sitting_await_person, sitting_player_move, sitting_succeed
from duel_runner.images import images_fetch
from duel_runner.makeable import if_makeable
from duel_runner.rules import rules
from duel_runner.workplace import workplace_of_this_worker

STAY_SECONDS = 60.0
"""How long a worker waits at the board for a person's move."""
STAY_WANTED_SECONDS = 10.0
"""How long it stays at the board in all, however quickly the person moves, where other work waits for it."""


class AwaitsPerson(Exception):
    """The worker leaves the board, because the person takes their time."""


class RowTable:
    """The table of a sitting whose moves are rows. It looks at them, so that no message can be lost."""

    def __init__(self, sitting: Sitting, lease: Lease) -> None:
        self._sitting, self._lease = sitting, lease
        self._since = self._looked_at = time.monotonic()
        """When the person's turn began, and when other work was looked for last."""
        self._step = -1

    def persons_move(self, step: int, valid: Sequence[int], seconds: float) -> int | None:
        """Return the person's move if it is there. Raises PersonLeft, and AwaitsPerson after a while without a move."""
        if step != self._step:
            self._step, self._since = step, time.monotonic()
        action = self._look(step)
        if action in valid:
            return action
        if seconds:
            self._stay()
            time.sleep(seconds)
        return None

    def player_moved(self, move: SittingMove) -> None:
        """Store a move of the submission."""
        sitting_player_move(sitting=self._sitting, move=move)

    def still_wanted(self) -> None:
        """Raise what ends the worker's time at the board."""
        self._look(-1)

    def _look(self, step: int) -> int | None:
        self._lease.raise_if_lost()
        seat = self._sitting.persons_seat
        move = MoveRow.objects.filter(sitting=OuterRef("pk"), step=step, seat=seat) if step >= 0 else None
        chosen = MoveRow.objects.none().values("action") if move is None else move.values("action")
        row = Sitting.objects.filter(pk=self._sitting.pk).annotate(chosen=Subquery(chosen))
        resigned_at, persons_turn_at, action = row.values_list("resigned_at", "persons_turn_at", "chosen").get()
        if resigned_at is not None:
            raise PersonLeft(PlayerFault.RESIGNED)
        if step >= 0 and action is None and is_abandoned(persons_turn_at, now=timezone.now()):
            raise PersonLeft(PlayerFault.LEFT)
        return None if action is None else int(action)

    def _stay(self) -> None:
        """Raise AwaitsPerson if the person takes longer than the worker has time, or others have waited for it."""
        now = time.monotonic()
        if now - self._since > STAY_SECONDS:
            raise AwaitsPerson
        if now - self._looked_at > STAY_WANTED_SECONDS:
            self._looked_at = now
            if is_line_waiting("duel"):
                raise AwaitsPerson


@if_makeable
def play_sitting(sitting: Sitting, lease: Lease) -> None:
    """Play a sitting on until its end, or until the person takes their time."""
    spec = rules(sitting)
    images_fetch(sitting.submission, lease=lease)
    try:
        played = _play(spec, sitting, lease)
    except AwaitsPerson:
        lease.log("The worker has left the board until the person moves.")
        sitting_await_person(sitting=sitting, log=lease.text)
        return
    log_stage("store")
    # The database may have closed the connection meanwhile; the result is written next.
    close_old_connections()
    names = (sitting.persons_name, str(sitting.submission))
    record = DuelRecord(spec.id, sitting.seed, names, (played.record,))
    digests = ("", sitting.submission.image_digest)
    with artifacts_stored(job=sitting, record=record, player_logs=("", played.log), digests=digests) as artifacts:
        sitting_succeed(sitting=sitting, record=record, artifacts=artifacts, log=lease.text)


def _play(spec: EnvironmentSpec, sitting: Sitting, lease: Lease) -> PlayedSitting:
    """Raises AwaitsPerson, PlatformFault, StaleJob and WorkerStopped."""
    submission = sitting.submission
    if not submission.launched_image:
        raise PlatformFault(f"{submission} has no image. Build it again first.", code="image_missing")
    workplace = workplace_of_this_worker()
    core = workplace.core

    def launch() -> Container:
        lease.raise_if_lost()
        slot = workplace.players.slot(workplace.launch(submission, core))
        bind(container_id=slot.container_id)
        return slot

    log_stage("play")
    lease.log(f"{sitting}: {spec.id}, sandbox {workplace.sandbox.name}.")
    with pinned(core):
        return run_sitting(
            spec,
            launch,
            RowTable(sitting, lease),
            seed=sitting.seed,
            seats=sitting.seats,
            opening=opening_of(sitting),
            moves=moves_of(sitting),
            limits=submission.agent.environment.limits,
            clock=time.monotonic,
        )
