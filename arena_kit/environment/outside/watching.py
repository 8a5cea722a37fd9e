"""Notes what a folder's code reaches for: files elsewhere, the network, other programs.

It watches the calls that Python announces, for the sake of honest mistakes; code that means harm can avoid it, and is
held by the walls of its container alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from types import FrameType

from arena_kit.environment.outside.report import BAD, LOOK

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto")
PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")
FILES = ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir")
MOST = 5
LIBRARY = str(Path(os.__file__).parent)


class Watch:
    """Watches this process from now on; a hook cannot be taken away again."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._found = str(folder), dict[str, str]()
        # What the code may read. The first of the path is the folder in which this process was started.
        self._own = (self._folder, sys.prefix, sys.base_prefix, LIBRARY, *filter(None, sys.path[1:]))
        self._scratch = (tempfile.gettempdir(), os.devnull)
        sys.addaudithook(self._note)

    def found(self) -> list[tuple[str, str]]:
        """Return a mark and a sentence for each thing that it has reached for, up to MOST."""
        return [(mark, sentence) for sentence, mark in list(self._found.items())[:MOST]]

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in NETWORK:
            what, mark = "uses the network, and there is none", BAD
        elif event in PROGRAMS:
            what, mark = "starts another program", BAD
        elif event in FILES and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  (must not follow links, which opens files)
            if path.startswith(self._scratch) or (path.startswith(self._own) and not _writes(event, arguments)):
                return
            what, mark = f"{'writes' if _writes(event, arguments) else 'reads'} {path[:100]}", LOOK
        else:
            return
        if len(self._found) < MOST and (where := self._culprit()):
            self._found[f"{where}: it {what}."] = mark

    def _culprit(self) -> str:
        """Return the line of the folder that called, also through the standard library; "" for another caller."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self._folder):
                return f"{os.path.relpath(name, self._folder)}, line {frame.f_lineno}"
            is_library = name.startswith("<frozen") or (name.startswith(LIBRARY) and "-packages" not in name)
            if not is_library:
                return ""
            frame = frame.f_back
        return ""


def _writes(event: str, arguments: tuple[object, ...]) -> bool:
    if event != "open":
        return event in ("os.remove", "os.rename", "os.mkdir")
    flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR))
