"""What every driver can do with a page: a handful of primitives, and what stories make of them."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from playwright.sync_api import Error

PATIENCE_SECONDS = 60.0
PLACE = """
const found = [...document.querySelectorAll(SELECTOR)].find((one) => one.getClientRects().length
  && (!WORDS || [one.textContent.trim(), one.getAttribute("aria-label")].includes(WORDS)));
if (!found) return null;
found.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
const { x, y, width, height } = found.getBoundingClientRect();
return [Math.round(x + width / 2), Math.round(y + height / 2)];
"""


class Driver(ABC):
    """A browser with one window."""

    name: str

    @abstractmethod
    def goto(self, address: str) -> None:
        """Open a page and wait until it is loaded."""

    @abstractmethod
    def run(self, script: str) -> Any:
        """Return what the body of a function returns in the page."""

    @abstractmethod
    def press(self, key: str) -> None:
        """Press and release one key: a character, or a name of NAMED_KEYS."""

    @abstractmethod
    def click_at(self, x: int, y: int) -> None:
        """Move the mouse to a place of the window and click there."""

    @abstractmethod
    def choose(self, selector: str, *paths: Path) -> None:
        """Put files into a file field."""

    @abstractmethod
    def resize(self, width: int, height: int) -> None:
        """Give the window a size."""

    @abstractmethod
    def picture(self) -> bytes:
        """Return the window as PNG."""

    def find(self, selector: str) -> str:
        """Return the words of the first element that fits; empty if there is none."""
        return str(self.run(f"return document.querySelector({json.dumps(selector)})?.textContent.trim() ?? ''"))

    def until(self, script: str) -> Any:
        """Run an expression until it is true, and return its value. Raises AssertionError after a minute."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := self._now(script)):
            assert time.monotonic() < end, f"{self.name} at {self.run('return location.href')}: {script}"
            time.sleep(0.1)
        return found

    def _now(self, script: str) -> Any:
        try:
            return self.run(f"const found = {script}; return found instanceof Node || found")
        except (AssertionError, Error, HTTPError):
            # The page is being left, or breaks the script.
            return None

    def until_reads(self, selector: str, words: str) -> None:
        """Wait until an element that fits shows these words among its own."""
        selector, words = json.dumps(selector), json.dumps(words)
        self.until(f"[...document.querySelectorAll({selector})].some((one) => one.textContent.includes({words}))")

    def click(self, selector: str, words: str = "") -> None:
        """Click the first visible element that fits, and has these words, in its middle."""
        script = PLACE.replace("SELECTOR", json.dumps(selector)).replace("WORDS", json.dumps(words))
        x, y = self.until(f"(() => {{{script}}})()")
        self.click_at(x, y)

    def type(self, selector: str, text: str) -> None:
        """Type a text into a field, key by key."""
        self.until(f"document.querySelector({json.dumps(selector)})")
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        for key in text:
            self.press(key)
