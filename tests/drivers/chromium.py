"""Chromium, by Playwright."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.drivers.driver import Driver


class Chromium(Driver):
    """A window of a running Chromium."""

    name = "Chromium"

    def __init__(self, stack: ExitStack, browser: Browser, *, is_dark: bool) -> None:
        self.page = stack.enter_context(browser.new_page(color_scheme="dark" if is_dark else "light"))

    def goto(self, address: str) -> None:
        self.page.goto(address)

    def run(self, script: str) -> Any:
        return self.page.evaluate(f"(() => {{{script}}})()")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def click_at(self, x: int, y: int) -> None:
        self.page.mouse.click(x, y)

    def choose(self, selector: str, *paths: Path) -> None:
        self.page.set_input_files(selector, list(paths))

    def resize(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def picture(self) -> bytes:
        return self.page.screenshot()
