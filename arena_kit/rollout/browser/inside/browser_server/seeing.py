"""Says what there is to see in a tab: its text with references, its address, and a picture if one is wanted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from playwright.async_api import Error, Page

SNAPSHOT_MS, PICTURE_MS = 5_000, 5_000
MOST_SNAPSHOT = 64 << 10
CUT = "\n[cut: the page goes on]"
MOST_HEIGHT = 8_000
"""Pixels of a page that a whole picture shows."""
MOST_TITLE, MOST_URL = 500, 8_000
SILENT = "The page does not respond."


async def snapshot(page: Page) -> tuple[str, str]:
    """Return the text of a page with references and boxes, and a sentence if there is none."""
    try:
        text = await asyncio.wait_for(
            page.aria_snapshot(mode="ai", boxes=True, timeout=SNAPSHOT_MS), SNAPSHOT_MS / 1000 + 1
        )
    except (Error, TimeoutError):
        return "", SILENT
    if len(text) > MOST_SNAPSHOT:
        text = text[: MOST_SNAPSHOT - len(CUT)] + CUT
    return text, ""


async def picture(page: Page, wanted: Mapping[str, Any]) -> bytes | None:
    """Return a PNG of the viewport, of the whole page (`full`) or of a part (`clip`), or None if there is none."""
    options: dict[str, Any] = {"type": "png", "timeout": PICTURE_MS, "caret": "hide"}
    try:
        await asyncio.wait_for(page.screencast.hide_overlays(), 1.0)
        if wanted.get("full"):
            options |= {"full_page": True, "clip": await _whole(page)}
        elif clip := _clip(page, wanted.get("clip")):
            options["clip"] = clip
        return await asyncio.wait_for(page.screenshot(**options), PICTURE_MS / 1000 + 1)
    except (Error, TimeoutError):
        return None
    finally:
        with contextlib.suppress(Error, TimeoutError):
            await asyncio.wait_for(page.screencast.show_overlays(), 1.0)


async def title(page: Page) -> str:
    """Return the title of a page; empty if it does not respond."""
    try:
        return (await asyncio.wait_for(page.title(), 1.0))[:MOST_TITLE]
    except (Error, TimeoutError):
        return ""


async def _whole(page: Page) -> dict[str, float]:
    size = page.viewport_size or {"width": 1, "height": 1}
    height = await asyncio.wait_for(page.evaluate("document.documentElement.scrollHeight"), 2.0)
    height = height if isinstance(height, int | float) else size["height"]
    return {"x": 0, "y": 0, "width": size["width"], "height": min(max(height, size["height"]), MOST_HEIGHT)}


def _clip(page: Page, wanted: Any) -> dict[str, float] | None:
    """Return the part of the viewport that [x, y, width, height] names, or None if it names none."""
    size = page.viewport_size or {"width": 1, "height": 1}
    if not isinstance(wanted, list) or len(wanted) != 4 or not all(isinstance(each, int | float) for each in wanted):
        return None
    x, y = min(max(wanted[0], 0), size["width"] - 1), min(max(wanted[1], 0), size["height"] - 1)
    width, height = min(wanted[2], size["width"] - x), min(wanted[3], size["height"] - y)
    return {"x": x, "y": y, "width": width, "height": height} if width >= 1 and height >= 1 else None
