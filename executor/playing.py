"""The service's work with runs, on top of the database and of waiting."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone

from arena_kit.upload.findings import Findings
from core.duels.run_requests import NOT_YOURS, RunRequest
from core.duels.run_selectors import RunState, run_job, run_states
from core.duels.runs import run_cancel, run_start, runs_expire
from core.errors import Refused
from core.models import AuditEntry, Run, User
from core.operations.priorities import priority_set
from core.people.audit_log import Operator
from core.people.rights import may
from core.submissions.trials import Trial, trial_end, trial_state
from executor.calls import PRIORITY, Context, is_detached, patience, priority
from executor.database import Database
from executor.leaving import Leaving
from executor.statuses import CallEnded, Code, unavailable
from executor.validating import Arriving, environment_row
from executor.waiting import WaitingCalls

logger = logging.getLogger(__name__)
TRIAL_SECONDS = 1.0
"""Seconds between two looks at an archive that plays against itself."""


@dataclass(slots=True)
class Playing:
    """Runs and verdicts as the services need them. inspections: threads that wait for inspections."""

    database: Database
    inspections: Database
    waiting: WaitingCalls = field(init=False)
    leaving: Leaving = field(init=False)
    _endings: set[asyncio.Future[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.waiting = WaitingCalls(self._states)
        self.leaving = Leaving(self._cancel)

    async def start(self, caller: User, request: RunRequest, context: Context) -> tuple[Run, bool]:
        """Put a run in line; return it, and whether it is new. Raises Refused and CallEnded."""
        run, is_new = await self.database.ask(_started, caller, request, priority(context))
        self.leaving.seen(run.pk)
        return run, is_new

    async def start_waited_for(self, caller: User, request: RunRequest, context: Context) -> Run:
        """Put a run in line for a call that waits for its end; it is cancelled as one of a caller that has gone."""
        starting = asyncio.ensure_future(self.start(caller, request, context))
        try:
            run, _ = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The row is made whether or not the call is still there.
            if not is_detached(context):
                starting.add_done_callback(self._left_alone)
            raise
        return run

    def _left_alone(self, starting: asyncio.Future[tuple[Run, bool]]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            self.leaving.left(starting.result()[0].pk)

    async def end(self, run: Run, context: Context) -> RunState:
        """Wait until a run is over. Raises CallEnded at the caller's deadline, and when the executor stops."""
        with self.leaving.waits(run.pk, is_detached=is_detached(context)):
            try:
                async with asyncio.timeout(patience(context)):
                    return await self.waiting.end(run.pk)
            except TimeoutError:
                why = "Your deadline is near. The match goes on: call again with the same id to wait for it."
                raise CallEnded(Code.DEADLINE_EXCEEDED, why) from None

    async def findings(self, archive: Arriving, environment: str, caller: User) -> Findings:
        """Return the verdict on an archive. Raises Refused and CallEnded."""
        row = await self.database.ask(environment_row, environment, caller)
        return await self.inspections.ask(archive.findings, row, caller)

    async def self_play(self, archive: Arriving, environment: str, caller: User, context: Context) -> Trial:
        """Let an archive play against itself; it is deleted when this ends, whatever the reason.

        Raises Refused and CallEnded.
        """
        row = await self.database.ask(environment_row, environment, caller)
        starting = asyncio.ensure_future(self.inspections.ask(archive.start_trial, row, caller))
        try:
            version = await asyncio.shield(starting)
            async with asyncio.timeout(patience(context)):
                # Workers send no event when a build ends, so poll the row.
                while not (state := await self.database.ask(trial_state, version)).is_over:  # noqa: ASYNC110  (as above)
                    await asyncio.sleep(TRIAL_SECONDS)
        except TimeoutError:
            raise CallEnded(Code.DEADLINE_EXCEEDED, "Your deadline is near, and the self-play is not over.") from None
        finally:
            # Also when the caller has gone: the version is made whether or not the call is still there.
            starting.add_done_callback(self._trial_over)
        if state.is_ours:
            raise unavailable(f"The arena could not try it: {state.error}")
        return state

    def _trial_over(self, starting: asyncio.Future[int]) -> None:
        if not starting.cancelled() and starting.exception() is None:
            ending = asyncio.ensure_future(self.database.ask(trial_end, starting.result()))
            self._endings.add(ending)
            ending.add_done_callback(self._ended)

    def _ended(self, ending: asyncio.Future[None]) -> None:
        self._endings.discard(ending)
        if not ending.cancelled() and (error := ending.exception()) is not None:
            # The retention deletes it later.
            logger.warning("A trial could not be deleted: %s", error)

    async def _states(self, ids: Collection[int]) -> dict[int, RunState]:
        return await self.database.ask(_states_now, ids)

    async def _cancel(self, run_id: int) -> None:
        await self.database.ask(_cancel_left, run_id)


def _started(caller: User, request: RunRequest, asked_priority: int) -> tuple[Run, bool]:
    """Put a run in line with a priority, which organisers may give it. Raises Refused."""
    if asked_priority and not may(caller, "core.change_duel"):
        raise Refused("Only organisers may set the priority of a run.", field=PRIORITY, code=NOT_YOURS)
    with transaction.atomic():
        run, is_new = run_start(caller=caller, request=request, now=timezone.now())
        if is_new and asked_priority:
            operator = Operator(AuditEntry.Channel.API, caller.username, caller.pk)
            priority_set(job=run_job(run), priority=asked_priority, operator=operator)
    return run, is_new


def _states_now(ids: Collection[int]) -> dict[int, RunState]:
    # Workers do the same every few seconds; a caller that waits should not have to wait for them.
    runs_expire()
    return run_states(ids)


def _cancel_left(run_id: int) -> None:
    run = Run.objects.filter(pk=run_id).first()
    if run is not None:
        run_cancel(run=run)
