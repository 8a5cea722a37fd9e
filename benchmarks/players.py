"""The measured players: sources of `player.py`, written to folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arena_kit.referee.play import Player

_REST = """
    def step(self, state, valid_actions, prev_reward):
        return self.start(state, valid_actions)

    def end(self, state, prev_reward):
        pass
"""

DUMMY = """
class Player:
    def __init__(self, train_mode):
        pass

    def start(self, state, valid_actions):
        return valid_actions[0]

    def step(self, state, valid_actions, prev_reward):
        return valid_actions[0]

    def end(self, state, prev_reward):
        pass
"""
"""Plays the first valid action."""


LINEAR = (
    """
import numpy as np

WEIGHTS = np.random.default_rng({seed}).standard_normal(({actions}, {size})).astype("float32")

class Player:
    def __init__(self, train_mode):
        pass

    def start(self, state, valid_actions):
        return valid_actions[np.argmax(WEIGHTS[valid_actions] @ state.ravel())]
"""
    + _REST
)
"""A small NumPy policy, different for every seed."""


HONEST = (
    """
import numpy as np

LAYERS = np.random.default_rng(1).standard_normal((8, 256, 256)).astype("float32") / 16

class Player:
    def __init__(self, train_mode):
        pass

    def start(self, state, valid_actions):
        seen = np.resize(state.ravel(), 256).astype("float32")
        for layer in LAYERS:
            seen = np.maximum(layer @ seen, 0)
        return valid_actions[np.argmax(seen[valid_actions])]
"""
    + _REST
)
"""A NumPy network of eight layers, which takes some tenths of a millisecond per move."""

_BURNER = """
import os
import threading

BURNING = set()

def burn():
    while True:
        pass

def ignite():
    # Also in a process that was forked after this file was loaded.
    if os.getpid() in BURNING:
        return
    BURNING.add(os.getpid())
    {how}

class Player:
    def __init__(self, train_mode):
        ignite()

    def start(self, state, valid_actions):
        ignite()
        return valid_actions[0]
""" + _REST  # fmt: skip
THREAD_BURNER = _BURNER.format(how="threading.Thread(target=burn, daemon=True).start()")
"""Plays like DUMMY while one of its threads burns CPU all the time."""
PROCESS_BURNER = _BURNER.format(how="os.fork() or burn()")
"""Plays like DUMMY while one of its processes burns CPU all the time."""
WAITING_BURNER = """
import os
import threading
import time

def burn():
    while True:
        pass

threading.Thread(target=burn, daemon=True).start()
os.fork() or burn()
until = time.monotonic() + {seconds}
while time.monotonic() < until:
    pass
""" + DUMMY  # fmt: skip
"""Burns CPU before it is asked to play: for this many seconds while it is loaded, and in what it leaves running."""


def lay_out(folder: Path, source: str) -> Path:
    """Write a player's folder and return it."""
    folder.mkdir(parents=True)
    (folder / "player.py").write_text(source)
    return folder


def load(folder: Path) -> Player:
    """Load the player of a folder into this process."""
    names: dict[str, Any] = {"__file__": str(folder / "player.py")}
    exec((folder / "player.py").read_text(), names)
    player: Player = names["Player"](False)
    return player
