"""The checks that every call passes: request id, drain, authentication, rate, size, metrics, errors as statuses."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import grpc
from django.conf import settings
from google.protobuf.message import Message

from arena_kit.log_context import bound
from core.errors import Refused
from core.models import User
from core.monitoring.metrics import call_answered
from core.tracing import Current, span
from executor.callers import caller_find, identity_of
from executor.database import Database
from executor.rates import Rate
from executor.statuses import CallEnded, Code, ended_by, unavailable

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")
Context = grpc.aio.ServicerContext[Any, Any]
OPEN = ("/grpc.health.v1.Health/", "/executor.Executor/HealthCheck")
"""Methods that everybody may call: probes have no token."""
VALIDATES = "ValidateAgent"
OURS = (Code.INTERNAL, Code.UNAVAILABLE, Code.UNKNOWN)
"""Statuses that are not a caller's mistake."""
MESSAGE_BYTES = 1024 * 1024
"""The largest message of any other method; the server's own limit is that of uploads."""
WITHOUT_DEADLINE_SECONDS = 900.0
RESERVE_SECONDS = 1.0
"""How long before a caller's deadline a wait ends, so that the answer still arrives."""
DETACH, PRIORITY = "arena-detach", "arena-priority"
REQUEST_ID = "x-request-id"

Read = Callable[[str, AsyncIterator[Any]], Awaitable[Any]]
_CALLER: ContextVar[User] = ContextVar("caller")


def caller() -> User:
    """Return the account of the call that is being answered."""
    return _CALLER.get()


def patience(context: Context) -> float:
    """Return for how many seconds a call may wait."""
    left = context.time_remaining()
    # The stubs do not know that a call may have no deadline.
    seconds = WITHOUT_DEADLINE_SECONDS if left is None else min(left, WITHOUT_DEADLINE_SECONDS)  # type: ignore[redundant-expr]
    return max(0.0, seconds - RESERVE_SECONDS)


def is_detached(context: Context) -> bool:
    """Return whether a caller wants its run to go on when it goes away."""
    return any(key == DETACH and value in {"1", b"1"} for key, value in _metadata(context))


def priority(context: Context) -> int:
    """Return the priority that a caller asks for its run, 0 without one. Raises CallEnded."""
    word = dict(_metadata(context)).get(PRIORITY, "0")
    try:
        return int(word)
    except ValueError:
        why = f"The metadata {PRIORITY} is a whole number, such as 5 or -5."
        raise CallEnded(Code.INVALID_ARGUMENT, why, field=PRIORITY) from None


def _metadata(context: Context) -> list[tuple[str, str | bytes]]:
    return list(context.invocation_metadata() or ())


class Calls(grpc.aio.ServerInterceptor):
    """The interceptor of the server. without_token: the account that calls without a token act for.

    running: the number of calls that are being answered, those of the health service left out.
    """

    def __init__(self, database: Database, *, by_certificate: bool = False, without_token: str = "") -> None:
        self._database, self._by_certificate, self._without_token = database, by_certificate, without_token
        rates = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
        self._calls, self._wrong = Rate(rates["executor"]), Rate(rates["stranger"])
        self.is_draining, self.running = False, 0
        self.is_empty = asyncio.Event()
        self.is_empty.set()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method of a call."""
        handler = await continuation(handler_call_details)
        method = str(handler_call_details.method)
        if handler is None or (method.startswith(OPEN[0])):
            return handler
        wrap = self._stream if handler.response_streaming else self._single
        sends, gets = (
            "stream" if several else "unary" for several in (handler.request_streaming, handler.response_streaming)
        )
        # The message of a stream is read after its caller was let in: strangers fill no memory.
        make = getattr(grpc, f"stream_{gets}_rpc_method_handler")
        read = _every if handler.request_streaming else _only
        made: grpc.RpcMethodHandler[Any, Any] = make(
            wrap(method, read, getattr(handler, f"{sends}_{gets}")),
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )
        return made

    def _single(
        self, method: str, read: Read, answer: Callable[[Any, Context], Awaitable[Answer]]
    ) -> Callable[..., Any]:
        async def answered(requests: AsyncIterator[Any], context: Context) -> Answer:
            async with self._passed(method, context):
                found = await answer(await read(method, requests), context)
            return found  # noqa: RET504  (in the block, mypy misses what follows it)

        return answered

    def _stream(
        self, method: str, read: Read, answer: Callable[[Any, Context], AsyncIterator[Answer]]
    ) -> Callable[..., Any]:
        async def answered(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Answer]:
            async with self._passed(method, context):
                async for one in answer(await read(method, requests), context):
                    yield one

        return answered

    @asynccontextmanager
    async def _passed(self, method: str, context: Context) -> AsyncIterator[None]:
        """Let a call in, and turn what it raises into a status."""
        with span(method.removeprefix("/"), kind="server", about={"rpc.system": "grpc"}) as traced:
            async with self._answered(method, context, traced):
                yield

    @asynccontextmanager
    async def _answered(self, method: str, context: Context, traced: Current) -> AsyncIterator[None]:
        begun, code = time.monotonic(), Code.OK
        sent = dict(_metadata(context)).get(REQUEST_ID, "")
        request_id = sent if isinstance(sent, str) and 0 < len(sent) <= 64 and sent.isprintable() else uuid.uuid4().hex
        self.running += 1
        self.is_empty.clear()
        try:
            with bound(request_id=request_id):
                try:
                    await self._check(method, context)
                    yield
                except Refused as refusal:
                    raise ended_by(refusal) from None
                except (CallEnded, grpc.aio.AbortError):
                    raise
                except Exception:
                    logger.exception("A call of %s failed.", method)
                    raise CallEnded(
                        Code.INTERNAL, f"The arena made a mistake; its operators find it as {request_id}."
                    ) from None
        except CallEnded as end:
            code = end.code
            await context.abort(end.code, str(end), (*end.metadata(), (REQUEST_ID, request_id)))
        except BaseException:
            code = Code.CANCELLED
            raise
        finally:
            self.running -= 1
            if not self.running:
                self.is_empty.set()
            traced.set({"rpc.grpc.status_code": int(code.value[0])})
            if code in OURS:
                traced.fail(code.name)
            call_answered(method=method.rpartition("/")[2], code=code.name, seconds=time.monotonic() - begun)

    async def _check(self, method: str, context: Context) -> None:
        if self.is_draining:
            raise unavailable("The executor is stopping. Call again: another one answers.")
        if method in OPEN:
            return
        peer = context.peer().rpartition(":")[0]
        identity = identity_of(_metadata(context), context.auth_context(), peer)
        try:
            found = await self._database.ask(
                caller_find, identity, by_certificate=self._by_certificate, without_token=self._without_token
            )
        except CallEnded as end:
            # Good tokens pass still: behind a proxy, many callers have one address.
            if end.code is Code.UNAUTHENTICATED and (seconds := self._wrong.wait(peer)):
                why = "Too many wrong tokens from your address."
                raise CallEnded(Code.RESOURCE_EXHAUSTED, why, retry_seconds=seconds) from None
            raise
        if seconds := self._calls.wait(str(found.pk)):
            raise CallEnded(Code.RESOURCE_EXHAUSTED, "You have sent too many calls.", retry_seconds=seconds)
        _CALLER.set(found)


async def _only(method: str, requests: AsyncIterator[Any]) -> Any:
    """Return the message of a call that has one. Raises CallEnded."""
    async for request in requests:
        if isinstance(request, Message) and not method.endswith(VALIDATES) and request.ByteSize() > MESSAGE_BYTES:
            raise CallEnded(Code.RESOURCE_EXHAUSTED, f"A message of {method} has at most {MESSAGE_BYTES:,} bytes.")
        return request
    raise CallEnded(Code.INVALID_ARGUMENT, "The call has no message.")


async def _every(_method: str, requests: AsyncIterator[Any]) -> Any:
    return requests
