"""The way from gRPC's event loop to the database: a small pool of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections

from executor.statuses import unavailable

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
THREADS = 8
"""Each holds a connection; a call needs one for milliseconds only, however long it waits."""


class Database:
    """Runs what needs the database in threads. pool: another one, for tests."""

    def __init__(self, pool: Executor | None = None) -> None:
        self._pool = pool or ThreadPoolExecutor(THREADS, thread_name_prefix="database")

    async def ask(self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        """Run a function in a thread. Raises CallEnded when the database is away, and what the function raises."""
        loop = asyncio.get_running_loop()
        # Threads do not inherit the log context and the trace of a call.
        call = partial(copy_context().run, _fresh, partial(work, *args, **kwargs))
        try:
            return await loop.run_in_executor(self._pool, call)
        except (OperationalError, InterfaceError) as error:
            raise unavailable("The arena's database does not answer. Try again in a moment.") from error

    def close(self) -> None:
        """Let the threads end, and their connections with them."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _fresh(work: Callable[[], Answer]) -> Answer:
    # Like the begin and end of a request: no thread keeps a connection that is broken or too old.
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
