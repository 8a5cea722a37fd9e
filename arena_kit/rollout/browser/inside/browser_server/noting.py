"""Keeps what happens between two orders: the requests of the browser, and pictures for the video."""

from __future__ import annotations

import time
from typing import Any

from playwright.async_api import BrowserContext, Error, Page, Request

MOST_REQUESTS = 5_000
"""Requests between two orders; further ones are counted only."""
MOST_BODY = 64 << 10
MOST_URL = 8_000
MOST_HEADERS, MOST_HEADER = 40, 500
MASKED = frozenset({"authorization", "cookie", "set-cookie", "proxy-authorization"})
MASK = "***"
LEAST_FRAME_MS = 100
MOST_FRAME_BYTES = 16 << 20
"""Pictures that are kept between two orders; further ones are left out."""
FRAME_QUALITY = 60
MARK_MS = 300


class Requests:
    """The requests of a context, each told once: when it is answered or has failed, or at the end."""

    def __init__(self) -> None:
        self._open: dict[Request, dict[str, Any]] = {}
        self._told: list[dict[str, Any]] = []
        self._count = self.lost = 0
        self.is_on = False
        """Whether requests are kept: not while the browser logs in."""

    def listen(self, context: BrowserContext) -> None:
        """Keep the requests of all tabs of a context from now on."""
        context.on("request", self._begun)
        context.on("requestfinished", self._finished)
        context.on("requestfailed", self._failed)

    @property
    def pending(self) -> int:
        """How many are not answered yet."""
        return len(self._open)

    def take(self, *, with_open: bool = False) -> list[dict[str, Any]]:
        """Return the requests that are not told yet. with_open: those without an answer, too."""
        if with_open:
            self._told += self._open.values()
            self._open.clear()
        told, self._told = self._told, []
        return told

    def _begun(self, request: Request) -> None:
        if not self.is_on:
            return
        self._count += 1
        if len(self._open) + len(self._told) >= MOST_REQUESTS:
            self.lost += 1
            return
        body = request.post_data_buffer or b""
        self._open[request] = {
            "number": self._count,
            "at": time.time(),
            "method": request.method[:20],
            "url": request.url[:MOST_URL],
            "kind": request.resource_type,
            "headers": _headers(request.headers),
            "body": body[:MOST_BODY].decode("utf-8", "replace"),
            "mime": request.headers.get("content-type", "")[:200],
            "status": 0,
            "ms": 0,
            "answered": {},
        }

    async def _finished(self, request: Request) -> None:
        if (noted := self._open.get(request)) is None:
            return
        try:
            response = await request.response()
        except Error:
            response = None
        if response is not None:
            noted["status"], noted["answered"] = response.status, _headers(response.headers)
        self._end(request)

    def _failed(self, request: Request) -> None:
        self._end(request)

    def _end(self, request: Request) -> None:
        if (noted := self._open.pop(request, None)) is not None:
            noted["ms"] = round((time.time() - noted["at"]) * 1000)
            self._told.append(noted)


class Frames:
    """Pictures of the tab that the agent sees, at most one in LEAST_FRAME_MS."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._kept: list[tuple[int, bytes]] = []
        self._bytes, self._last_at = 0, 0
        self.active: Page | None = None

    async def listen(self, page: Page) -> None:
        """Begin to take pictures of a tab; those taken while another one is active are left out."""

        def keep(frame: Any) -> None:
            at = round(frame["timestamp"])
            if page is not self.active:
                return
            data: bytes = frame["data"]
            if at - self._last_at < LEAST_FRAME_MS and self._kept:
                # The newest takes its place: what a page comes to rest at must be seen.
                at, replaced = self._kept.pop()
                self._bytes -= len(replaced)
            if self._bytes + len(data) <= MOST_FRAME_BYTES:
                self._kept.append((at, data))
                self._bytes += len(data)
                self._last_at = at

        size: Any = {"width": self._width, "height": self._height}
        await page.screencast.start(on_frame=keep, size=size, quality=FRAME_QUALITY)
        # Shows people what the agent did. Snapshots do not have it, and pictures for the agent are taken without.
        await page.screencast.show_actions(duration=MARK_MS, cursor="pointer")

    def take(self) -> list[tuple[int, bytes]]:
        """Return the pictures since the last call, each with milliseconds since 1970."""
        kept, self._kept, self._bytes = self._kept, [], 0
        return kept


def _headers(headers: dict[str, str]) -> dict[str, str]:
    """Return headers as they are kept: cut, and without what proves a person's identity."""
    kept = list(headers.items())[:MOST_HEADERS]
    return {name[:100]: MASK if name.lower() in MASKED else value[:MOST_HEADER] for name, value in kept}
