"""The arena's own service: package `arena.executor.v1`."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import IO

from arena_kit.upload.findings import Finding
from core.duels.run_requests import RunPlayer, RunRequest
from core.duels.run_selectors import run_job, run_rows
from core.duels.runs import run_cancel
from core.duels.selectors import NotStored, file_get, records_without_traces
from core.models import Evaluation, Run, User
from core.submissions.selectors import agent_source_visible
from executor.answers import environments_message, findings_message, run_find, run_message
from executor.door import Context, caller, patience
from executor.generated.arena.executor.v1 import executor_pb2 as v1
from executor.generated.arena.executor.v1.executor_pb2_grpc import ExecutorServiceServicer
from executor.playing import Playing
from executor.statuses import CallEnded, Code
from executor.validating import arriving

PAGE, MOST_OF_A_PAGE = 50, 500
CHUNK_BYTES = 64 * 1024
DIGEST = "sha256-bin"


class ExecutorService(ExecutorServiceServicer):
    """Runs with ids, progress and records."""

    def __init__(self, playing: Playing) -> None:
        self._playing, self._ask = playing, playing.database.ask

    async def StartRun(self, request: v1.StartRunRequest, context: Context) -> v1.StartRunResponse:  # noqa: N802
        """Put a duel in line."""
        run, is_new = await self._playing.start(caller(), asked(request), context)
        return v1.StartRunResponse(run=await self._ask(_message, caller(), str(run.pk)), created=is_new)

    async def GetRun(self, request: v1.GetRunRequest, context: Context) -> v1.GetRunResponse:  # noqa: N802
        """Return a run by its id or key."""
        return v1.GetRunResponse(run=await self._ask(_message, caller(), request.id, request.key))

    async def ListRuns(self, request: v1.ListRunsRequest, context: Context) -> v1.ListRunsResponse:  # noqa: N802
        """Return a page of the caller's runs, newest first."""
        return await self._ask(_page, caller(), request)

    async def CancelRun(self, request: v1.CancelRunRequest, context: Context) -> v1.CancelRunResponse:  # noqa: N802
        """Cancel a run; one that is over stays as it is."""
        return v1.CancelRunResponse(run=await self._ask(_cancelled, caller(), request.id))

    async def WatchRun(self, request: v1.WatchRunRequest, context: Context) -> AsyncIterator[v1.WatchRunResponse]:  # noqa: N802
        """Send a run whenever its state is newer than the last one sent."""
        run = await self._ask(run_find, caller(), run_id=request.id)
        self._playing.leaving.seen(run.pk)
        after, is_over = request.after_sequence or -1, False
        try:
            async with asyncio.timeout(patience(context)):
                while not is_over:
                    state = await self._playing.waiting.news(run.pk, after=after)
                    message = await self._ask(_message, caller(), request.id)
                    after, is_over = max(state.sequence, message.sequence), state.is_over or message.HasField("result")
                    yield v1.WatchRunResponse(run=message)
        except TimeoutError:
            raise CallEnded(
                Code.DEADLINE_EXCEEDED, "Your deadline is near: watch again after the last sequence."
            ) from None

    async def GetRecord(self, request: v1.GetRecordRequest, context: Context) -> AsyncIterator[v1.GetRecordResponse]:  # noqa: N802
        """Send the file of a run's records."""
        file = await self._ask(_record, caller(), request.id)
        digest = hashlib.sha256()
        try:
            while chunk := await self._ask(file.read, CHUNK_BYTES):
                digest.update(chunk)
                yield v1.GetRecordResponse(chunk=chunk)
        finally:
            file.close()
        context.set_trailing_metadata(((DIGEST, digest.digest()),))

    async def ValidateAgent(  # noqa: N802
        self, request_iterator: AsyncIterator[v1.ValidateAgentRequest], context: Context
    ) -> v1.ValidateAgentResponse:
        """Say what an upload would be refused for."""
        environment, plays = "", False
        with arriving() as archive:
            async for request in request_iterator:
                environment, plays = environment or request.environment, plays or request.self_play
                archive.write(request.chunk)
            found = await self._playing.findings(archive, environment, caller())
            if not plays or found.errors:
                return findings_message(found)
            trial = await self._playing.self_play(archive, environment, caller(), context)
        if not trial.has_passed:
            found = replace(found, errors=(Finding(trial.code, trial.error),))
        return findings_message(found, matches=trial.matches)

    async def DescribeEnvironments(  # noqa: N802
        self, request: v1.DescribeEnvironmentsRequest, context: Context
    ) -> v1.DescribeEnvironmentsResponse:
        """Return all environments, also those that play no runs."""
        return await self._ask(environments_message)


def asked(request: v1.StartRunRequest) -> RunRequest:
    """Return what a request asks for."""
    return RunRequest(
        key=request.key or uuid.uuid4().hex,
        environment=request.environment,
        players=tuple(RunPlayer(player.name, player.version) for player in request.players),
        seconds=request.timeout.seconds + (request.timeout.nanos > 0),
        match_count=request.match_count or 1,
        seed=request.seed if request.HasField("seed") else None,
    )


def _message(user: User, run_id: str, key: str = "") -> v1.Run:
    return run_message(run_find(user, run_id=run_id, key=key))


def _page(user: User, request: v1.ListRunsRequest) -> v1.ListRunsResponse:
    rows = run_rows(user)
    if request.page_token:
        if not (request.page_token.isascii() and request.page_token.isdigit() and len(request.page_token) < 19):
            raise CallEnded(Code.INVALID_ARGUMENT, "This is not the token of a page.", field="page_token")
        rows = rows.filter(pk__lt=int(request.page_token))
    size = min(request.page_size or PAGE, MOST_OF_A_PAGE)
    found: list[Run] = list(rows[: size + 1])
    runs = found[:size]
    return v1.ListRunsResponse(
        runs=map(run_message, runs), next_page_token=str(runs[-1].pk) if len(found) > size else ""
    )


def _cancelled(user: User, run_id: str) -> v1.Run:
    run_cancel(run=run_find(user, run_id=run_id))
    return _message(user, run_id)


def _record(user: User, run_id: str) -> IO[bytes]:
    duel = run_job(run_find(user, run_id=run_id))
    if isinstance(duel, Evaluation):
        return _episodes(duel)
    agents = (duel.player_1.agent, duel.player_2.agent)
    closed = [player for player, agent in enumerate(agents) if not agent_source_visible(agent, user)]
    try:
        return records_without_traces(duel, closed)
    except NotStored as missing:
        raise CallEnded(Code.FAILED_PRECONDITION, str(missing)) from None


def _episodes(evaluation: Evaluation) -> IO[bytes]:
    """Open the records of an evaluation, whose seeds are public and whose player belongs to the caller."""
    try:
        return file_get(evaluation.records, "These records are")
    except NotStored as missing:
        raise CallEnded(Code.FAILED_PRECONDITION, str(missing)) from None
