"""Reads orders from the other side's socket and answers them one by one, until it hangs up."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Playwright, async_playwright

from arena_kit.frames import Splitter

from .launching import CannotOpen
from .messages import MOST_BYTES, decode, encode
from .session import Session

READ_BYTES = 1 << 20


def main(path: str) -> None:
    """Connect to a Unix socket and serve."""
    asyncio.run(_serve(path))


async def _serve(path: str) -> None:
    reader, writer = await asyncio.open_unix_connection(path)
    arrived = Splitter(MOST_BYTES)
    async with async_playwright() as playwright:
        session: Session | None = None
        while (payload := await _read(reader, arrived)) is not None:
            try:
                session, answer, sent = await _carry_out(playwright, session, *decode(payload))
            except CannotOpen as error:
                answer, sent = {"failed": error.code, "sentence": str(error)}, []
            except Exception as error:
                answer, sent = {"failed": "browser_failed", "sentence": f"{type(error).__name__}: {error}"[:500]}, []
            writer.write(encode(answer, sent))
            await writer.drain()
    writer.close()


async def _read(reader: asyncio.StreamReader, arrived: Splitter) -> bytes | None:
    """Return the payload of the next frame; None when the other side hangs up."""
    while (frame := arrived.take()) is None:
        if not (data := await reader.read(READ_BYTES)):
            return None
        arrived.feed(data)
    return frame[1]


async def _carry_out(
    playwright: Playwright, session: Session | None, order: dict[str, Any], attachments: list[bytes]
) -> tuple[Session, dict[str, Any], list[bytes]]:
    """Carry out an order; return the session, the answer and its attachments.

    These are the picture if there is one, the trace at the end if there is one, and then the pictures of the video.
    """
    problem, trace = "", None
    if session is None:
        session = Session(playwright, order, dict(zip(order["uploads"], attachments, strict=True)))
        await session.open()
    elif order["do"] == "act":
        problem = await session.act(order["action"], order["given"])
    seen, image = await session.see(order)
    if order["do"] == "end":
        trace = await session.end()
    frames = session.frames.take()
    answer = {
        **seen,
        "problem": problem,
        "requests": session.requests.take(with_open=order["do"] == "end"),
        "requests_lost": session.requests.lost,
        "has_picture": image is not None,
        "has_trace": trace is not None,
        "frames_at": [at for at, _ in frames],
    }
    sent = [each for each in (image, trace) if each is not None]
    return session, answer, [*sent, *(data for _, data in frames)]
