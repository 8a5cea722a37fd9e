"""Players that take up their source when a duel begins: a start, which costs most of a test's time, serves many tests.

Each duel has a process of its own, forked from one that has loaded nothing but this stage.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import Launch, Slot
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.warm import WarmPlayers

SOURCE = """
import functools, sys
from pathlib import Path
from types import ModuleType

@functools.cache
def chosen():
    module = sys.modules[__name__] = ModuleType(__name__)
    module.__file__ = __file__
    text = (Path(__file__).parent / "case.py").read_text(encoding="utf-8")
    exec(compile(text, __file__, "exec"), module.__dict__)
    return module.Player

class Player:
    def __new__(cls, train_mode):
        return chosen()(train_mode)
"""
"""The `player.py` that becomes the class Player of `case.py`, under the name and path that it has when it is alone."""
CASE = "case.py"


class Stages:
    """Local processes with such players that stay loaded from one duel to the next, one folder for each player."""

    def __init__(self) -> None:
        # Paths of sockets must be short, and players run as another user.
        self._root = Path(tempfile.mkdtemp(prefix="arena-"))
        self._root.chmod(0o755)
        self._folders = [self._root / "1", self._root / "2"]
        for folder in self._folders:
            folder.mkdir()
            (folder / "player.py").write_text(SOURCE)
        self._pool = WarmPlayers(ProcessSandbox(self._root / "c"), capacity=4, idle_seconds=600)
        self._names = (f"arena-stage-{os.getpid()}-{number}" for number in itertools.count(1))

    def slot(self, player: int, source: str, limits: Limits) -> Slot:
        """Start a duel's process of player 0 or 1 with this source. Raises SandboxError and PlayerDidNotStart."""
        folder = self._folders[player]
        (folder / CASE).write_text(source, encoding="utf-8")
        # Time is the referee's: with other limits of time, the same processes will do.
        limits = replace(limits, move_seconds=1.0, bank_seconds=1.0)
        return self._pool.slot(Launch(f"folder:{folder}", next(self._names), limits, {}))

    def close(self) -> None:
        """End all processes."""
        self._pool.close()
        shutil.rmtree(self._root)
