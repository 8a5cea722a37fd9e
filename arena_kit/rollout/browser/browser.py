"""The browser of a world, from the worker's side: it is opened, acts, shows, and is removed."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from arena_kit.errors import PlatformFault
from arena_kit.frames import BadFrame, Splitter
from arena_kit.rollout.browser.container import (
    MEMORY_BYTES,
    NAME,
    BrowserHost,
    browser_options,
)
from arena_kit.rollout.browser.folder import SOCKET, channel_fill
from arena_kit.rollout.browser.inside.browser_server.messages import MOST_BYTES, decode, encode
from arena_kit.rollout.browser.observation import Seen, seen_read
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.actions import Action
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.front import PORT
from arena_kit.rollout.worlds.world import World, WorldFault
from arena_kit.sandbox.channel import remove_abandoned_channels

COME_UP_SECONDS, OPEN_SECONDS, ACT_SECONDS, END_SECONDS = 60.0, 240.0, 120.0, 90.0
"""The time limit of an action. Its own limits in the browser are shorter, so that only a browser that is lost reaches
this one."""
VIEWPORT = (1280, 720)
_READ_BYTES = 1 << 20


class Browser:
    """A browser in the network of a world. `with` removes it. Its methods raise PlatformFault."""

    memory_bytes = MEMORY_BYTES

    def __init__(self, browsers: BrowserHost, world: World, *, viewport: tuple[int, int] = VIEWPORT) -> None:
        """Start the container. `open` starts Chromium in it."""
        self.viewport = viewport
        self._world = world
        self._wire: socket.socket | None = None
        # The next browser of any worker removes the leftovers of killed ones.
        remove_abandoned_channels(browsers.channel_dir)
        origins = world.package.origins
        self._channel = world.channel(NAME, browsers.channel_dir, lambda folder: channel_fill(folder, origins))
        try:
            self._wire = self._connected(browsers.image, self._channel.folder)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, task: Task, *, picture: bool, trace: bool = True, video: bool = True) -> Seen:
        """Start Chromium, log in as the task says and show its first page. picture: whether a PNG is wanted."""
        package = self._world.package
        order = {
            "do": "open", "origins": list(package.origins), "home": package.home or f"{package.origins[0]}/",
            "start_url": task.start_url or package.home or "/", "login": _login(package, task.login),
            "viewport": list(self.viewport), "clock": package.clock, "uploads": sorted(package.uploads),
            "trace": trace, "video": video, "picture": picture, "proxy": PORT if package.front else 0,
        }  # fmt: skip
        return self._asked(order, OPEN_SECONDS, [package.uploads[name] for name in sorted(package.uploads)])

    def act(self, action: Action, *, picture: bool = False) -> Seen:
        """Carry out an action and show what there is then. picture: whether a PNG is wanted."""
        wanted = dict(action.arguments) if action.name == "screenshot" else {}
        order = {"do": "act", "action": action.name, "given": dict(action.arguments), **wanted}
        return self._asked({**order, "picture": picture or action.name == "screenshot"}, ACT_SECONDS)

    def end(self, *, picture: bool = False) -> Seen:
        """Show the last page, and fetch what the browser has kept."""
        return self._asked({"do": "end", "picture": picture}, END_SECONDS)

    def close(self) -> None:
        """Kill the browser. May be called twice. What fails is left to the removal of the world."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        with contextlib.suppress(PlatformFault):
            self._world.leave(NAME)
        self._channel.close()

    def _connected(self, image: str, folder: Path) -> socket.socket:
        """Start the container and return its connection."""
        listener = self._channel.listen(SOCKET)
        try:
            self._world.join(NAME, lambda *given: browser_options(image, folder, *given))
            deadline = time.monotonic() + COME_UP_SECONDS
            wire = listener.accept(deadline, lambda: self._world.is_running(NAME))
        finally:
            listener.close()
        if wire is None:
            raise self._lost("The browser's container did not come up.")
        return wire

    def _asked(self, order: Mapping[str, Any], seconds: float, attachments: Sequence[bytes] = ()) -> Seen:
        if self._wire is None:
            raise PlatformFault("The browser is closed.", code="browser_failed")
        deadline = time.monotonic() + seconds
        try:
            self._wire.settimeout(seconds)
            self._wire.sendall(encode(dict(order), attachments))
            answer, received = decode(self._read(deadline))
        except BadFrame as error:
            raise self._lost(f"The browser broke the protocol: {error}.") from None
        except TimeoutError:
            raise self._lost(f"The browser did not answer within {seconds:g} s.") from None
        except OSError:
            raise self._lost("The browser has ended.") from None
        if "failed" in answer:
            code = "login_failed" if answer["failed"] == "login_failed" else "browser_failed"
            raise WorldFault(f"The browser failed: {str(answer.get('sentence'))[:500]}", code=code)
        return seen_read(answer, received)

    def _read(self, deadline: float) -> bytes:
        """Return the payload of an answer. Raises BadFrame, OSError and TimeoutError."""
        assert self._wire is not None
        arrived = Splitter(MOST_BYTES)
        while (frame := arrived.take()) is None:
            if (seconds := deadline - time.monotonic()) <= 0:
                raise TimeoutError
            self._wire.settimeout(seconds)
            if not (piece := self._wire.recv(_READ_BYTES)):
                raise ConnectionResetError
            arrived.feed(piece)
        if not arrived.is_empty:
            raise BadFrame("it said more than it was asked")
        return frame[1]

    def _lost(self, sentence: str) -> WorldFault:
        log = ""
        with contextlib.suppress(PlatformFault, KeyError):
            log = self._world.log(NAME)
        return WorldFault(sentence, code="browser_failed", log=log)


def _login(package: BuiltPackage, name: str) -> Mapping[str, Any] | None:
    found = next((login for login in package.logins if login.name == name), None)
    if found is None:
        return None
    return {
        "name": found.name,
        "url": found.url,
        "fields": dict(found.fields),
        "submit": found.submit,
        "done": found.done,
    }
