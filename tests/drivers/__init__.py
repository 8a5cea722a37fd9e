"""One way to drive three browsers: Chromium by Playwright, Firefox by WebDriver BiDi, WebKit by WebDriver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from playwright.sync_api import Browser

from tests.drivers.chromium import Chromium
from tests.drivers.driver import Driver as Driver
from tests.drivers.firefox import Firefox
from tests.drivers.webkit import WebKit


@contextmanager
def driver(name: str, browser: Browser, *, is_dark: bool = False) -> Iterator[Driver]:
    """Open a window of `browser`, or start a browser of one's own and end it with everything that belongs to it.

    name: chromium, firefox or webkit. is_dark: whether the system prefers the dark scheme.
    """
    with ExitStack() as stack:
        if name == "chromium":
            yield Chromium(stack, browser, is_dark=is_dark)
        else:
            yield {"firefox": Firefox, "webkit": WebKit}[name](stack, is_dark=is_dark)
