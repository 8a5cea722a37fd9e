"""An executor in the process of a test, and its clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import grpc
from django.db import connections
from django.utils import timezone

from core.models import TokenScope, User
from core.people.tokens import token_create
from executor.database import Database
from executor.generated.executor.executor_pb2_grpc import ExecutorStub
from executor.listening import Listening
from executor.server import ExecutorServer

Answer = TypeVar("Answer")
HERE = "127.0.0.1:0"


class OneThread(ThreadPoolExecutor):
    """One thread on the connection of the test, so that the executor sees the test's transaction.

    Make it outside of an event loop, in which Django has another connection. What the test itself asks of the database
    meanwhile goes through it as well.
    """

    def __init__(self) -> None:
        shared = connections["default"]
        shared.inc_thread_sharing()
        super().__init__(1, initializer=lambda: connections.__setitem__("default", shared))

    def close(self) -> None:
        """End the thread; the connection stays the test's."""
        super().shutdown(wait=True)
        connections["default"].dec_thread_sharing()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stay: the test may ask on when a server has ended."""


@asynccontextmanager
async def serving(
    database: Database | None, where: Listening | None = None, **options: Any
) -> AsyncIterator[tuple[ExecutorServer, str]]:
    """Run an executor; yield it and its address. database: None for threads of its own."""
    where = where or Listening(HERE)
    server = ExecutorServer(where, database=database, **options)
    port = await server.start()
    try:
        address = where.address if where.address.startswith("unix:") else f"{where.address.rpartition(':')[0]}:{port}"
        yield server, address
    finally:
        await server.stop(drain_seconds=0)


def token_of(user: User) -> tuple[tuple[str, str], ...]:
    """Return the metadata with a new token of a person."""
    _, token = token_create(owner=user, name="grpc", now=timezone.now(), days=1, scope=TokenScope.EXECUTOR)
    return (("authorization", f"Bearer {token}"),)


def stub(channel: grpc.aio.Channel) -> Any:
    """Return a client. Of any type, as clients in other languages are."""
    return ExecutorStub(channel)


async def refused(call: Awaitable[Any]) -> grpc.aio.AioRpcError:
    """Return the status with which a call fails."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return error
    raise AssertionError(f"It was answered: {answer}")


async def waiting(server: ExecutorServer, count: int) -> None:
    """Wait until so many calls wait for runs."""
    while server.playing.waiting.count != count:  # noqa: ASYNC110  (clients are waited for)
        await asyncio.sleep(0.01)


def run(main: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a test's coroutine; one that hangs ends with an error."""
    return asyncio.run(asyncio.wait_for(main, 300))
