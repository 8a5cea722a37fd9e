"""Tracebacks of players as their owners read them: without folders of the machine, the player's own line in front."""

from __future__ import annotations

import re
from dataclasses import dataclass

FRAME = re.compile(r'^(\s*File ")([^"\n]+)(", line (\d+)(?:, in (.+))?)$', re.MULTILINE)
LIBRARY = re.compile(r"^(?:.*/)?(?:(?:site|dist)-packages|lib(?:64)?/python3[^/]*)/")
ABOVE_LIBRARY = re.compile(r"^.*/(?=(?:site|dist)-packages/|lib(?:64)?/python3)")
OTHER = "…/"
"""Stands for the folder of a file that is neither the player's nor of a package, such as those of the arena."""
ENTRIES = ("player.py", "agent.py", "main.py", "submission.py")
"""The files that the arena starts: the folder of the first one that a traceback names is the player's."""


@dataclass(frozen=True, slots=True)
class OwnLine:
    """The last line of the player's own files that a traceback names. place: such as "player.py, line 9, in step".

    code: the line; "" where the traceback does not quote it.
    """

    place: str
    code: str


def without_folders(text: str) -> str:
    """Return a text in which tracebacks name a player's files from its folder on, and packages without theirs."""
    root = _root(text)
    return FRAME.sub(lambda found: f"{found[1]}{_short(found[2], root)}{found[3]}", text)


def own_line(trace: str) -> OwnLine | None:
    """Return where the player's own code raised, or called what raised; None without such a line."""
    root = _root(trace)
    own = [frame for frame in FRAME.finditer(trace) if root is not None and _is_own(frame[2], root)]
    if not own:
        return None
    last = own[-1]
    below = trace[last.end() + 1 :].partition("\n")[0]
    function = f", in {last[5]}" if last[5] and last[5] != "<module>" else ""
    code = below.strip() if below.startswith("    ") else ""
    return OwnLine(f"{_short(last[2], root)}, line {last[4]}{function}", code)


def _root(text: str) -> str | None:
    """Return the player's folder, with a slash at its end unless it is empty."""
    for frame in FRAME.finditer(text):
        folder, slash, name = frame[2].rpartition("/")
        if name in ENTRIES and not LIBRARY.match(frame[2]):
            return folder + slash
    return None


def _is_own(path: str, root: str) -> bool:
    return path.startswith(root) and not path.startswith((OTHER, "<")) and not LIBRARY.match(path)


def _short(path: str, root: str | None) -> str:
    if root is not None and _is_own(path, root):
        return path.removeprefix(root)
    if LIBRARY.match(path):
        return ABOVE_LIBRARY.sub("", path)
    return path if path.startswith("<") else OTHER + path.rpartition("/")[2]
