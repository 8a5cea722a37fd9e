"""Carries out one action in a tab. What does not work is said in a sentence for the agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import Error, Locator, Page
from playwright.async_api import TimeoutError as TookTooLong

ELEMENT_MS = 5_000
"""How long an element may take until it can be acted on."""
MOST_TYPED = 200
"""A longer text is put in at once, as if pasted, instead of key by key."""
DRAG_STEPS = 5
_PARTS = re.compile(r"(label|placeholder|title|alt)=(.+)", re.DOTALL)
_BARE_NAME = re.compile(r"(role=[\w-]+)\[name=([^\"'\]=/]+)\]")


class NotDone(Exception):
    """The action could not be carried out. The message is a sentence for the agent."""


async def do(page: Page, name: str, given: Mapping[str, Any], uploads: Mapping[str, bytes]) -> None:
    """Carry out an action on the page itself; those on tabs and addresses are the session's. Raises NotDone."""
    try:
        await _do(page, name, given, uploads)
    except TookTooLong as error:
        raise NotDone(f"It took longer than {ELEMENT_MS / 1000:g} s: {_reason(error)}") from None
    except Error as error:
        raise NotDone(_reason(error)) from None


async def _do(page: Page, name: str, given: Mapping[str, Any], uploads: Mapping[str, bytes]) -> None:
    if name in ("click", "double_click"):
        await _click(page, given, 2 if name == "double_click" else 1)
    elif name in ("hover", "focus", "clear"):
        await _touch(page, name, given)
    elif name in ("fill", "select_option", "check", "uncheck", "upload"):
        await _set(await _element(page, given), name, given, uploads)
    elif name == "type":
        await _type(page, given)
    elif name == "press":
        if _names_element(given):
            await (await _element(page, given)).press(given["keys"], timeout=ELEMENT_MS)
        else:
            await page.keyboard.press(given["keys"])
    elif name == "drag":
        await _drag(page, given)
    elif name == "scroll":
        await _scroll(page, given)
    elif name == "wait":
        await asyncio.sleep(float(given["seconds"]))


async def _click(page: Page, given: Mapping[str, Any], count: int) -> None:
    button, keys = given.get("button", "left"), given.get("modifiers") or []
    if button not in ("left", "middle", "right"):
        raise NotDone("The button must be left, middle or right.")
    if _names_element(given):
        element = await _element(page, given)
        await element.click(button=button, modifiers=keys, click_count=count, timeout=ELEMENT_MS)
        return
    x, y = _point(page, given)
    for key in keys:
        await page.keyboard.down(key)
    try:
        await page.mouse.click(x, y, button=button, click_count=count)
    finally:
        for key in keys:
            await page.keyboard.up(key)


async def _touch(page: Page, name: str, given: Mapping[str, Any]) -> None:
    """Hover over, focus or clear an element or what is at a point."""
    if _names_element(given):
        element = await _element(page, given)
        if name == "hover":
            await element.hover(timeout=ELEMENT_MS)
        elif name == "focus":
            await element.focus(timeout=ELEMENT_MS)
        else:
            await element.clear(timeout=ELEMENT_MS)
        return
    x, y = _point(page, given)
    if name == "hover":
        await page.mouse.move(x, y)
        return
    await page.mouse.click(x, y)
    if name == "clear":
        await _clear_focused(page)


async def _set(element: Locator, name: str, given: Mapping[str, Any], uploads: Mapping[str, bytes]) -> None:
    """Give an element of a form its value."""
    if name == "fill":
        await element.fill(given["text"], timeout=ELEMENT_MS)
    elif name == "select_option":
        await element.select_option(given["values"], timeout=ELEMENT_MS)
    elif name == "check":
        await element.check(timeout=ELEMENT_MS)
    elif name == "uncheck":
        await element.uncheck(timeout=ELEMENT_MS)
    else:
        if (content := uploads.get(given["name"])) is None:
            raise NotDone(f"There is no file of that name; there are: {', '.join(sorted(uploads)) or 'none'}.")
        file: Any = {"name": given["name"], "mimeType": "application/octet-stream", "buffer": content}
        await element.set_input_files(file, timeout=ELEMENT_MS)


async def _type(page: Page, given: Mapping[str, Any]) -> None:
    if _names_element(given):
        await (await _element(page, given)).focus(timeout=ELEMENT_MS)
    elif "x" in given:
        await page.mouse.click(*_point(page, given))
    if given.get("clear"):
        await _clear_focused(page)
    if len(given["text"]) <= MOST_TYPED:
        await page.keyboard.type(given["text"])
    else:
        await page.keyboard.insert_text(given["text"])
    if given.get("enter"):
        await page.keyboard.press("Enter")


async def _clear_focused(page: Page) -> None:
    await page.keyboard.press("Control+A")
    await page.keyboard.press("Delete")


async def _drag(page: Page, given: Mapping[str, Any]) -> None:
    start, end = await _place(page, given["from"], given), await _place(page, given["to"], given)
    await page.mouse.move(*start)
    await page.mouse.down()
    await page.mouse.move(*end, steps=DRAG_STEPS)
    await page.mouse.up()


async def _scroll(page: Page, given: Mapping[str, Any]) -> None:
    if _names_element(given):
        await (await _element(page, given)).hover(timeout=ELEMENT_MS)
    else:
        size = page.viewport_size or {"width": 0, "height": 0}
        await page.mouse.move(*(_point(page, given) if "x" in given else (size["width"] / 2, size["height"] / 2)))
    await page.mouse.wheel(float(given.get("dx", 0)), float(given.get("dy", 0)))


async def _place(page: Page, place: Any, given: Mapping[str, Any]) -> tuple[float, float]:
    """Return the point that an end of a drag means: the middle of an element, or the point itself."""
    if isinstance(place, Sequence) and not isinstance(place, str):
        return _point(page, {"x": place[0], "y": place[1], "scale": given.get("scale")})
    element = await _found(page, place, place if _is_selector(place) else f"aria-ref={place}")
    await element.scroll_into_view_if_needed(timeout=ELEMENT_MS)
    box = await element.bounding_box(timeout=ELEMENT_MS)
    if box is None:
        raise NotDone(f"The element {place[:100]} is not visible.")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _point(page: Page, given: Mapping[str, Any]) -> tuple[float, float]:
    """Return a point in pixels of the viewport. Raises NotDone for one outside."""
    size = page.viewport_size or {"width": 0, "height": 0}
    x, y, scale = float(given["x"]), float(given["y"]), given.get("scale")
    if scale:
        x, y = x * size["width"] / float(scale), y * size["height"] / float(scale)
    if not (0 <= x <= size["width"] and 0 <= y <= size["height"]):
        raise NotDone(f"The point is outside of the viewport of {size['width']} x {size['height']} pixels.")
    return x, y


def _names_element(given: Mapping[str, Any]) -> bool:
    return "ref" in given or "selector" in given


async def _element(page: Page, given: Mapping[str, Any]) -> Locator:
    """Return the element that an action names. Raises NotDone if the page has none."""
    if "ref" in given:
        if not re.fullmatch(r"(f\d{1,6})?e\d{1,8}", given["ref"]):
            raise NotDone("A reference stands in brackets in the snapshot, for example e7.")
        return await _found(page, given["ref"], f"aria-ref={given['ref']}")
    return await _found(page, given["selector"], given["selector"])


async def _found(page: Page, said: str, selector: str) -> Locator:
    if selector.startswith("aria-ref="):
        locator = page.locator(selector)
        if await locator.count() == 0:
            raise NotDone(f"There is no element {said} on the page now: look at the snapshot again.")
        return locator
    return await located(page, selector)


def _is_selector(place: str) -> bool:
    return "=" in place


async def located(page: Page, selector: str) -> Locator:
    """Return the element of a selector, once it is there. Raises Playwright's errors.

    `label=`, `placeholder=`, `title=` and `alt=` name elements as people do: by the whole text, else by a part of it.
    """
    parts = _PARTS.fullmatch(selector)
    if parts is None:
        locator = page.locator(_BARE_NAME.sub(lambda found: f'{found[1]}[name="{found[2]}"]', selector))
        await locator.first.wait_for(state="attached", timeout=ELEMENT_MS)
        return locator
    kind, text = parts.groups()
    by = {"label": page.get_by_label, "placeholder": page.get_by_placeholder, "title": page.get_by_title,
          "alt": page.get_by_alt_text}[kind]  # fmt: skip
    await by(text).first.wait_for(state="attached", timeout=ELEMENT_MS)
    whole = by(text, exact=True)
    return whole if await whole.count() else by(text)


def _reason(error: Error) -> str:
    """Return the first line of an error, and why the element could not be acted on, if that is said."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip(" -") for line in str(error.message).splitlines()]
    first = re.sub(r"^\w+\.\w+: (Error: )?", "", next((line for line in lines if line), "The action failed."))
    why = [line for line in lines[1:] if re.search(r"intercepts|not visible|not enabled|not stable|outside", line)]
    return f"{first} {why[-1]}"[:500] if why else first[:500]
