"""Firefox, by WebDriver BiDi."""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64decode
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.drivers.driver import PATIENCE_SECONDS, Driver
from tests.drivers.started import key_pressed, mouse_clicked, printed, started

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
        stack.enter_context(started(command, environment, profile / "output"))
        address = printed(profile / "output", r"WebDriver BiDi listening on (ws://\S+)\n")
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
        self._ask("input.performActions", context=self._context, actions=key_pressed(key))

    def click_at(self, x: int, y: int) -> None:
        self._ask("input.performActions", context=self._context, actions=mouse_clicked(x, y))

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
