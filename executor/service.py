"""The service that clients of the older executor know, and what was added to it: package `executor`."""

from __future__ import annotations

from dataclasses import replace

from arena_kit.upload.findings import Finding
from core.duels.run_requests import RunPlayer, RunRequest
from core.jobs.worker_selectors import places_alive
from core.models import Duel, JobState
from core.operations.health import playing_count
from core.version import arena_version
from executor.answers import findings_message, match_message
from executor.calls import Calls, Context, caller
from executor.generated.executor import executor_pb2 as old
from executor.generated.executor.executor_pb2_grpc import ExecutorServicer
from executor.playing import Playing
from executor.statuses import CallEnded
from executor.validating import arriving


class ExecutorService(ExecutorServicer):
    """Matches and verdicts for programs."""

    def __init__(self, playing: Playing, calls: Calls) -> None:
        self._playing, self._calls = playing, calls

    async def RunMatch(self, request: old.MatchRequest, context: Context) -> old.MatchResponse:
        """Play one match and return its result."""
        run = await self._playing.start_waited_for(caller(), asked(request), context)
        await self._playing.end(run, context)
        database = self._playing.database
        return await database.ask(match_message, caller(), run.pk, with_replay=request.record_replay)

    async def ValidateAgent(self, request: old.ValidationRequest, context: Context) -> old.ValidationResponse:
        """Say what an upload would be refused for."""
        with arriving() as archive:
            archive.write(request.code_zip)
            found = await self._playing.findings(archive, request.environment, caller())
            if not request.self_play or found.errors:
                return findings_message(found)
            trial = await self._playing.self_play(archive, request.environment, caller(), context)
        if not trial.has_passed:
            found = replace(found, errors=(Finding(trial.code, trial.error),))
        return findings_message(found, matches=trial.matches)

    async def HealthCheck(self, request: old.HealthCheckRequest, context: Context) -> old.HealthCheckResponse:
        """Say whether matches can be played now; everybody may ask."""
        try:
            can_play, playing, waiting = await self._playing.database.ask(_health)
        except CallEnded:
            can_play, playing, waiting = False, 0, 0
        is_healthy = can_play and not self._calls.is_draining
        return old.HealthCheckResponse(
            healthy=is_healthy, version=arena_version(), active_matches=playing, queued_matches=waiting
        )


def asked(request: old.MatchRequest) -> RunRequest:
    """Return what a request asks for. An agent without an image may have its version as its id."""
    players = tuple(
        RunPlayer(
            agent.agent_id,
            agent.docker_image or agent.code_url or agent.agent_id,
            agent.version,
            tuple(sorted(agent.metadata.items())),
        )
        for agent in request.agents
    )
    return RunRequest(
        request.match_id,
        request.environment,
        players,
        seconds=request.timeout_sec,
        match_count=request.match_count or 1,
        seed=request.seed if request.HasField("seed") else None,
    )


def _health() -> tuple[bool, int, int]:
    return places_alive(Duel) > 0, playing_count(), playing_count(JobState.QUEUED)
