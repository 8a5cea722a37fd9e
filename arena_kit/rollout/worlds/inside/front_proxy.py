"""The only way of a browser to the services of a world: a proxy that keeps a log of what was asked and answered.

Runs within a world, so it uses the standard library alone. Arguments: its port, the log, and the origins that may be
reached. The log has a JSON object a line, as the browser's own log has; it ends where it would be too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

MOST_HEAD, MOST_BODY, MOST_LOG = 64 << 10, 64 << 10, 24 << 20
MOST_URL = 8_000
MOST_HEADERS, MOST_HEADER = 40, 500
MASKED = frozenset({"authorization", "cookie", "set-cookie", "proxy-authorization"})
HOP = frozenset({"connection", "proxy-connection", "keep-alive", "proxy-authorization", "te", "upgrade"})
"""Headers between two neighbours, which are not handed on."""
HEAD_SECONDS = 30.0
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotServed(Exception):
    """A request that goes nowhere. status: what the browser gets."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Front:
    """Serves the browser of one world."""

    def __init__(self, log: IO[str], origins: frozenset[str]) -> None:
        self._log, self._origins = log, origins
        self._count = self._written = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request; the browser opens another connection for the next one."""
        begun, noted = time.time(), None
        try:
            method, url, headers = await _head(reader)
            if method == "CONNECT":
                origin = _origin(f"http://{url}")
                self._check(
                    origin
                )  # Chromium asks for services of its own by itself, which is not a request of a page.
                noted = self._noted(method, origin, headers, begun)
                await self._tunnel((reader, writer), origin, noted)
            else:
                noted = self._noted(method, url, headers, begun)
                await self._hand_on((reader, writer), method, url, headers, noted)
        except NotServed as refusal:
            await _refuse(writer, refusal.status, noted)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ValueError):
            await _refuse(writer, 502, noted)
        finally:
            if noted is not None:
                noted["ms"] = round((time.time() - begun) * 1000)
                self._write(noted)
            with contextlib.suppress(OSError):
                writer.close()

    async def _hand_on(
        self, browser: Pair, method: str, url: str, headers: list[tuple[str, str]], noted: dict[str, Any]
    ) -> None:
        parts = urlsplit(url)
        service = await self._connected(_origin(url))
        try:
            given = {name.lower(): value for name, value in headers}
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            lines = [
                f"{method} {target} HTTP/1.1",
                *(f"{name}: {value}" for name, value in headers if name.lower() not in HOP),
                "Connection: close",
            ]
            service[1].write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
            if "transfer-encoding" in given:
                raise NotServed(411)
            left, kept = int(given.get("content-length") or 0), b""
            while left > 0 and (piece := await browser[0].read(min(left, 1 << 16))):
                left -= len(piece)
                kept = (kept + piece)[:MOST_BODY]
                service[1].write(piece)
                await service[1].drain()
            noted["body"] = kept.decode("utf-8", "replace")
            await _answer(service[0], browser[1], noted)
        finally:
            service[1].close()

    async def _tunnel(self, browser: Pair, origin: str, noted: dict[str, Any]) -> None:
        """Carry a WebSocket, of which the log has the address alone."""
        service = await self._connected(origin)
        noted["status"] = 200
        browser[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            await asyncio.gather(_carry(browser[0], service[1]), _carry(service[0], browser[1]))
        finally:
            service[1].close()

    async def _connected(self, origin: str) -> Pair:
        self._check(origin)
        host, _, port = origin.partition("://")[2].partition(":")
        return await asyncio.open_connection(host, int(port or 80), limit=MOST_HEAD)

    def _check(self, origin: str) -> None:
        if origin not in self._origins:
            raise NotServed(403)

    def _noted(self, method: str, url: str, headers: list[tuple[str, str]], at: float) -> dict[str, Any]:
        self._count += 1
        mime = next((value for name, value in headers if name.lower() == "content-type"), "")
        return {
            "number": self._count, "at": at, "method": method[:20], "url": url[:MOST_URL], "kind": "front",
            "headers": _masked(headers), "body": "", "mime": mime[:200], "status": 0, "ms": 0, "answered": {},
        }  # fmt: skip

    def _write(self, noted: dict[str, Any]) -> None:
        line = json.dumps(noted) + "\n"
        if self._written + len(line) <= MOST_LOG:
            self._written += self._log.write(line)
            self._log.flush()


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, list[tuple[str, str]]]:
    """Return method, address and headers of a request. Raises NotServed."""
    text = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)).decode("latin-1")
    first, *lines = text[:-4].split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or any(":" not in line for line in lines):
        raise NotServed(400)
    pairs = [line.split(":", 1) for line in lines]
    return words[0].upper(), words[1], [(name.strip(), value.strip()) for name, value in pairs]


async def _answer(service: asyncio.StreamReader, browser: asyncio.StreamWriter, noted: dict[str, Any]) -> None:
    """Hand an answer on to its end."""
    while True:
        head = (await service.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head[:-4].split("\r\n")
        status = int(first.split(" ")[1])
        if status >= 200 or status == 101:
            break
    headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    noted["status"], noted["answered"] = status, _masked(headers)
    kept = [first, *(f"{name}: {value}" for name, value in headers if name.lower() not in HOP), "Connection: close"]
    browser.write(("\r\n".join(kept) + "\r\n\r\n").encode("latin-1"))
    await _carry(service, browser)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: int, noted: dict[str, Any] | None) -> None:
    if noted is not None and noted["status"]:
        return  # An answer has begun; it is cut off.
    with contextlib.suppress(OSError):
        writer.write(f"HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = "" if parts.port in (None, 80) else f":{parts.port}"
    return f"{parts.scheme}://{parts.hostname or ''}{port}".lower()


def _masked(headers: list[tuple[str, str]]) -> dict[str, str]:
    return {
        name.lower(): "***" if name.lower() in MASKED else value[:MOST_HEADER] for name, value in headers[:MOST_HEADERS]
    }


async def serve(front: Front, port: int) -> None:
    """Say that the port is open, and serve until this process is ended."""
    server = await asyncio.start_server(front.serve, "127.0.0.1", port, limit=MOST_HEAD)
    print("listening", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w", encoding="utf-8") as kept:
        asyncio.run(serve(Front(kept, frozenset(sys.argv[3:])), int(sys.argv[1])))
