"""WebKit, by WebDriver."""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64decode
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.drivers.driver import PATIENCE_SECONDS, Driver
from tests.drivers.started import key_pressed, mouse_clicked, patiently, printed, started
from tests.machine import minibrowser
from tests.programs import free_port


class WebKit(Driver):
    """WebKit's small browser on a screen of its own in memory."""

    name = "WebKit"

    def __init__(self, stack: ExitStack, *, is_dark: bool) -> None:
        home = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-webkit-", ignore_cleanup_errors=True))
        )
        screen = ["Xvfb", "-displayfd", "1", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
        stack.enter_context(started(screen, os.environ, home / "display"))
        display = printed(home / "display", r"(?m)^(\d+)\n")
        port = free_port()
        environment = {
            **os.environ,
            "DISPLAY": f":{display}",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home),
            "GTK_THEME": "Adwaita:dark" if is_dark else "Adwaita",
            "LIBGL_ALWAYS_SOFTWARE": "1",
        }
        stack.enter_context(started(["WebKitWebDriver", f"--port={port}"], environment, home / "output"))
        self._address = f"http://127.0.0.1:{port}/session"
        options = {"binary": minibrowser(), "args": ["--automation"]}
        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        session = patiently(lambda: self._ask("POST", "", wanted))["sessionId"]
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
        self._ask("POST", "/actions", {"actions": key_pressed(key)})

    def click_at(self, x: int, y: int) -> None:
        self._ask("POST", "/actions", {"actions": mouse_clicked(x, y)})

    def choose(self, selector: str, *paths: Path) -> None:
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        (reference,) = element.values()
        self._ask("POST", f"/element/{reference}/value", {"text": "\n".join(str(path) for path in paths)})

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def picture(self) -> bytes:
        return b64decode(self._ask("GET", "/screenshot"))
