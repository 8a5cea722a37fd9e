"""The server: its services, how it starts, and how it stops without losing a run."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection

from arena_kit.upload.inspection import PROCESSES
from executor.calls import Calls
from executor.credentials import credentials
from executor.database import Database
from executor.generated.executor import executor_pb2 as old
from executor.generated.executor.executor_pb2_grpc import add_ExecutorServicer_to_server
from executor.listening import Listening
from executor.playing import Playing
from executor.service import ExecutorService
from executor.statuses import unavailable

logger = logging.getLogger(__name__)
SERVICE = old.DESCRIPTOR.services_by_name["Executor"].full_name
MOST_CALLS = 1000
DRAIN_SECONDS = 20.0
"""For how long calls may still end by themselves after SIGTERM."""
END_SECONDS = 2.0
OPTIONS = (
    # ValidateAgent takes an archive of 50 MiB; Calls limits the others.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.max_metadata_size", 16 * 1024),
    # Connections are made anew, so that clients find executors that were added.
    ("grpc.max_connection_age_ms", 30 * 60 * 1000),
    ("grpc.max_connection_age_grace_ms", 60 * 60 * 1000),
    # A client that is gone without a word is found, and one that asks too often is sent away.
    ("grpc.keepalive_time_ms", 60 * 1000),
    ("grpc.keepalive_timeout_ms", 20 * 1000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 30 * 1000),
    ("grpc.so_reuseport", 0),
)


class ExecutorServer:
    """The gRPC server of this process. without_token: as in Calls. database: replaced in tests."""

    def __init__(
        self,
        where: Listening,
        *,
        without_token: str = "",
        has_reflection: bool = False,
        database: Database | None = None,
    ) -> None:
        self._where, self._database = where, database or Database()
        self._inspections = database or Database(ThreadPoolExecutor(PROCESSES, thread_name_prefix="inspection"))
        self.playing = Playing(self._database, self._inspections)
        self.calls = Calls(self._database, by_certificate=bool(where.client_ca), without_token=without_token)
        self._health = health_aio.HealthServicer()
        self._server = grpc.aio.server(interceptors=(self.calls,), options=OPTIONS, maximum_concurrent_rpcs=MOST_CALLS)
        add_ExecutorServicer_to_server(ExecutorService(self.playing, self.calls), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        if has_reflection:
            names = (SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        self.farewell = unavailable("The executor stops. The run goes on: call again with the same id.")
        self._poller: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """Listen and answer; return the port. Raises OSError and RuntimeError when the address cannot be used."""
        if self._where.is_encrypted:
            port = self._server.add_secure_port(self._where.address, credentials(self._where))
        else:
            port = self._server.add_insecure_port(self._where.address)
        self._poller = asyncio.create_task(self.playing.waiting.poll())
        await self._server.start()
        await self._tell(health_pb2.HealthCheckResponse.SERVING)
        return port

    async def stop(self, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Take no more calls, wait for those that end soon, and send the others away. Their runs go on."""
        self.calls.is_draining = True
        await self.tell_draining()
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_seconds):
                await self.calls.is_empty.wait()
        self.playing.leaving.close()
        self.playing.waiting.close(self.farewell)
        await self._server.stop(END_SECONDS)
        self.playing.leaving.close()
        if self._poller is not None:
            self._poller.cancel()
        self._database.close()
        self._inspections.close()

    async def tell_draining(self) -> None:
        """Say on the health service that no new call should come here. The server itself stays alive for probes."""
        await self._tell(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def _tell(self, state: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        await self._health.set(SERVICE, state)
