"""One way to drive three browsers: Chromium by Playwright, Firefox by WebDriver BiDi, WebKit by WebDriver.

A driver has a handful of primitives. What stories do with a page is made of them, so that it is the same in all three.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Error
from websockets.sync.client import ClientConnection, connect

from tests.machine import minibrowser
from tests.programs import free_port

PATIENCE_SECONDS = 60.0
NAMED_KEYS = {
    "Escape": "\ue00c", "Tab": "\ue004", "Enter": "\ue007", "Home": "\ue011", "End": "\ue010",
    "ArrowLeft": "\ue012", "ArrowRight": "\ue014",
}  # fmt: skip
"""Keys of the WebDriver standard that are no characters."""
FIREFOX_PREFERENCES = {
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:9/",
    "toolkit.telemetry.enabled": False,
}
"""Nothing asks for the network."""
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


def _key(key: str) -> list[dict[str, Any]]:
    value = NAMED_KEYS.get(key, key)
    presses = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
    return [{"type": "key", "id": "keys", "actions": presses}]


def _click(x: int, y: int) -> list[dict[str, Any]]:
    move = {"type": "pointerMove", "x": x, "y": y, "duration": 0}
    presses = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
    return [
        {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move, *presses]},
    ]


class Firefox(Driver):
    """A Firefox of one's own, without a screen."""

    name = "Firefox"

    def __init__(self, stack: ExitStack, *, is_dark: bool) -> None:
        profile = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-firefox-", ignore_cleanup_errors=True))
        )
        wanted = {**FIREFOX_PREFERENCES, "layout.css.prefers-color-scheme.content-override": 0 if is_dark else 1}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in wanted.items()]
        (profile / "user.js").write_text("".join(lines))
        command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
        environment = {**os.environ, "HOME": str(profile)}
        stack.enter_context(_started(command, environment, profile / "output"))
        address = _printed(profile / "output", r"WebDriver BiDi listening on (ws://\S+)\n")
        self._socket: ClientConnection = stack.enter_context(connect(f"{address}/session", max_size=None))
        self._count = 0
        self._ask("session.new", capabilities={})
        self._context = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(PATIENCE_SECONDS))).get("id") != self._count:
            pass
        assert answer["type"] == "success", f"{method}: {answer.get('message')}"
        result: dict[str, Any] = answer["result"]
        return result

    def goto(self, address: str) -> None:
        self._ask("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def run(self, script: str) -> Any:
        # As JSON, because BiDi has a form of its own for each kind of value.
        answer = self._evaluate(f"(async () => JSON.stringify((await (() => {{{script}}})()) ?? null))()")
        return json.loads(answer["value"])

    def _evaluate(self, expression: str) -> dict[str, Any]:
        answer = self._ask(
            "script.evaluate", expression=expression, target={"context": self._context}, awaitPromise=True
        )
        assert answer["type"] == "success", answer.get("exceptionDetails", {}).get("text")
        result: dict[str, Any] = answer["result"]
        return result

    def press(self, key: str) -> None:
        self._ask("input.performActions", context=self._context, actions=_key(key))

    def click_at(self, x: int, y: int) -> None:
        self._ask("input.performActions", context=self._context, actions=_click(x, y))

    def choose(self, selector: str, *paths: Path) -> None:
        element = self._evaluate(f"document.querySelector({json.dumps(selector)})")
        files = [str(path) for path in paths]
        shared = {"sharedId": element["sharedId"]}
        self._ask("input.setFiles", context=self._context, element=shared, files=files)

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self._context, viewport=size)

    def picture(self) -> bytes:
        return b64decode(self._ask("browsingContext.captureScreenshot", context=self._context)["data"])


class WebKit(Driver):
    """WebKit's small browser on a screen of its own in memory."""

    name = "WebKit"

    def __init__(self, stack: ExitStack, *, is_dark: bool) -> None:
        home = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-webkit-", ignore_cleanup_errors=True))
        )
        screen = ["Xvfb", "-displayfd", "1", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
        stack.enter_context(_started(screen, os.environ, home / "display"))
        display = _printed(home / "display", r"(?m)^(\d+)\n")
        port = free_port()
        environment = {
            **os.environ,
            "DISPLAY": f":{display}",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home),
            "GTK_THEME": "Adwaita:dark" if is_dark else "Adwaita",
            "LIBGL_ALWAYS_SOFTWARE": "1",
        }
        stack.enter_context(_started(["WebKitWebDriver", f"--port={port}"], environment, home / "output"))
        self._address = f"http://127.0.0.1:{port}/session"
        options = {"binary": minibrowser(), "args": ["--automation"]}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        session = _patiently(lambda: self._ask("POST", "", wanted))["sessionId"]
        self._address = f"{self._address}/{session}"
        stack.callback(self._ask, "DELETE", "")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._address}{path}", data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)["value"]

    def goto(self, address: str) -> None:
        self._ask("POST", "/url", {"url": address})

    def run(self, script: str) -> Any:
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, key: str) -> None:
        self._ask("POST", "/actions", {"actions": _key(key)})

    def click_at(self, x: int, y: int) -> None:
        self._ask("POST", "/actions", {"actions": _click(x, y)})

    def choose(self, selector: str, *paths: Path) -> None:
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        (reference,) = element.values()
        self._ask("POST", f"/element/{reference}/value", {"text": "\n".join(str(path) for path in paths)})

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def picture(self) -> bytes:
        return b64decode(self._ask("GET", "/screenshot"))


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


@contextmanager
def _started(command: list[str], environment: Mapping[str, str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _printed(output: Path, pattern: str) -> str:
    """Wait until a program has printed a line that fits, and return the group of the pattern."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (found := re.search(pattern, output.read_text(errors="replace"))):
        assert time.monotonic() < end, output.read_text(errors="replace")
        time.sleep(0.1)
    return found[1]


def _patiently(attempt: Callable[[], Any]) -> Any:
    """Return what an attempt returns once nothing refuses the connection."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
