"""Streams of what is played now, for the small process of their own that `core.asgi` starts.

A stream sends what everyone may see, and no more: it reads no cookies and no accounts. Each topic is looked at by
itself, twice a second, a board of a person more often, whatever the number of its streams. One that is slow to look at
holds up no other, and a stream that is slow to read skips what is out of date by then.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from core.addresses import client_address, network_of
from web.watching.topics import Told, look

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

logger = logging.getLogger(__name__)
LOOK_SECONDS, BOARD_LOOK_SECONDS = 0.5, 0.05
"""Time from one look at a topic to the next, and at the board of a person, who waits for a reply."""
TOPIC_SECONDS = 0.01
"""With many topics the time between two looks is as many times this: looks take no more than a part of a core."""
THREADS = 8
"""Looks at the same time, each with its own connection to the database. Boards of people have one thread more."""
PING_SECONDS = 15.0
"""A stream without changes sends a comment after this time, so that no proxy on the way takes it for dead."""
SEND_SECONDS = 30.0
"""A stream that does not read for so long is closed."""
MOST_STREAMS, MOST_TOPICS = 2_000, 100
"""More than these are refused; their pages then poll every two seconds."""
RETRY_MS = 3_000
PATH = re.compile(r"/events/(wall|duels/[1-9][0-9]{0,17}|sittings/[0-9a-f-]{36})/?")


@dataclass(eq=False)
class Topic:
    """The present state of a topic. version: counts the changes. streams: how many follow it.

    is_away: the last look has failed.
    """

    name: str
    told: Told | None = None
    version: int = 0
    streams: int = 0
    is_away: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


class Streams:
    """The application: answers `/events/<topic>` with server-sent events. look: returns what is told of a topic."""

    def __init__(self, look: Callable[[str], Told | None] = look, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._look, self._look_seconds = look, look_seconds
        self._topics: dict[str, Topic] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # By what ends each stream: the address that has it, oldest first.
        self._open: dict[asyncio.Event, str] = {}
        self._threads, self._boards = ThreadPoolExecutor(THREADS, "events"), ThreadPoolExecutor(1, "boards")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                for task in self._tasks:
                    task.cancel()
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/events/health":
            return await _short(send, 200)
        found = PATH.fullmatch(scope["path"])
        if found is None or scope["method"] != "GET":
            return await _short(send, 404)
        visitor = _visitor(scope)
        if len(self._open) >= MOST_STREAMS and not self._make_room(visitor):
            return await _short(send, 503)
        topic = self._topics.get(found[1])
        if topic is None:
            if len(self._topics) >= MOST_TOPICS:
                return await _short(send, 503)
            topic = self._topics[found[1]] = Topic(found[1])
            self._begin(self._follow(topic))
        topic.streams += 1
        cut = asyncio.Event()
        self._open[cut] = visitor
        try:
            await self._stream(topic, receive, send, cut)
        finally:
            topic.streams -= 1
            self._open.pop(cut, None)

    def _make_room(self, visitor: str) -> bool:
        """End the newest stream of the address that has most, unless one more of the visitor would be as many."""
        shares = Counter(self._open.values())
        ((most, count),) = shares.most_common(1)
        if count <= shares[visitor] + 1:
            return False
        cut = next(cut for cut, one in reversed(self._open.items()) if one == most)
        del self._open[cut]
        cut.set()
        return True

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, topic: Topic) -> None:
        """Look at a topic until no stream follows it, or there is nothing more to tell."""
        loop, is_board = asyncio.get_running_loop(), topic.name.startswith("sittings/")
        try:
            while True:
                due_at = loop.time() + self._pause(is_board=is_board)
                try:
                    threads = self._boards if is_board else self._threads
                    told = await loop.run_in_executor(threads, self._look, topic.name)
                except Exception:  # any error, usually the database: the next look tries again
                    if not topic.is_away:
                        logger.exception("What is told of %s could not be read.", topic.name)
                    async with topic.changed:
                        topic.is_away = True
                        topic.changed.notify_all()
                else:
                    topic.is_away = False
                    if told is None or told != topic.told:
                        async with topic.changed:
                            topic.told, topic.version = told, topic.version + 1
                            topic.changed.notify_all()
                    if told is None or told.is_over:
                        return
                await asyncio.sleep(max(0.0, due_at - loop.time()))
                if not topic.streams:
                    return
        finally:
            self._topics.pop(topic.name, None)

    def _pause(self, *, is_board: bool) -> float:
        """Return the time from one look at a topic to the next."""
        if is_board:
            return min(self._look_seconds, BOARD_LOOK_SECONDS)
        return max(self._look_seconds, min(1.0, TOPIC_SECONDS * len(self._topics)))

    async def _stream(self, topic: Topic, receive: Receive, send: Send, cut: asyncio.Event) -> None:
        if not await _changes(topic, 0) or topic.told is None or cut.is_set():
            await _short(send, 404 if topic.version and topic.told is None else 503)
            return
        gone = asyncio.ensure_future(_gone(receive))
        telling = asyncio.ensure_future(_tell(topic, send))
        tasks = (gone, telling, asyncio.ensure_future(cut.wait()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError, TimeoutError, OSError):
                    await task
        if cut.is_set() and telling.cancelled():
            with suppress(TimeoutError, OSError):
                await _send(send, "", more=False)


def _visitor(scope: Scope) -> str:
    """Return the address of a visitor as limits count it."""
    headers = dict(scope.get("headers", ()))
    peer, forwarded = scope.get("client") or ("",), headers.get(b"x-forwarded-for", b"").decode("latin-1")
    return network_of(client_address({"REMOTE_ADDR": peer[0], "HTTP_X_FORWARDED_FOR": forwarded}))


async def _tell(topic: Topic, send: Send) -> None:
    """Send what is told of a topic, and what changes of it, until it is over. Raises TimeoutError."""
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
        # Its content is for everyone.
        (b"access-control-allow-origin", b"*"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await _send(send, f"retry: {RETRY_MS}\n\n")
    sent: Mapping[str, str] = {}
    version = 0
    while True:
        if not await _changes(topic, version):
            await _send(send, ": nothing new\n\n")
            continue
        version, told = topic.version, topic.told
        if told is None:
            await _send(send, event("end", {}), more=False)
            return
        changed = {name: html for name, html in told.parts.items() if sent.get(name) != html}
        sent = told.parts
        text = "".join(event("part", {"id": name, "html": html}) for name, html in changed.items())
        if told.progress:
            text += event("progress", {"progress": told.progress})
        await _send(send, text + (event("end", {}) if told.is_over else ""), more=not told.is_over)
        if told.is_over:
            return


async def _changes(topic: Topic, version: int) -> bool:
    """Wait until a topic has another version, or cannot be read for a first one; return False if it takes too long."""
    try:
        async with asyncio.timeout(PING_SECONDS), topic.changed:
            await topic.changed.wait_for(lambda: topic.version != version or (topic.is_away and not version))
    except TimeoutError:
        return False
    return True


async def _gone(receive: Receive) -> None:
    """Return when the visitor has closed the stream."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, text: str, *, more: bool = True) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _short(send: Send, status: int) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"0"), (b"access-control-allow-origin", b"*")]
    headers += [(b"retry-after", b"30")] if status == 503 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def event(kind: str, data: Mapping[str, Any]) -> str:
    """Return an event. JSON has no line breaks, so that nothing in a page can end it."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
