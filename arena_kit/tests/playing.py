"""Duels between real players in local processes, for tests."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.sandbox.base import Container, Launch, Sandbox
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.staged import Stages

LIMITS = Limits(move_seconds=2.0, bank_seconds=2.0, start_seconds=60, duel_seconds=300, max_restarts=2)
COUNTER = itertools.count(1)
PLAYER = """
{top}
class Player:
    {attributes}
    def __init__(self, train_mode):
        {init}
    def start(self, state, valid_actions):
        {start}
        return valid_actions[0]
    def step(self, state, valid_actions, prev_reward):
        {step}
        return valid_actions[0]
    def end(self, state, prev_reward):
        {end}
"""
WITHOUT_TOP = PLAYER.partition("    {attributes}")[0].format(top="pass")
PARTS = ("top", "attributes", "init", "start", "step", "end")


def player(**parts: str) -> str:
    """Return the source of a player of the first valid action, with more code in top, init, start, step or end."""
    filled = dict.fromkeys(PARTS, "pass") | parts
    return PLAYER.format(**{name: text.replace("\n", "\n        ") for name, text in filled.items()})


GOOD = player()


@functools.cache
def stages() -> Stages:
    """Return the players that stay loaded; a fixture of the session ends them."""
    return Stages()


@contextlib.contextmanager
def folders(*sources: str | Mapping[str, str]) -> Iterator[list[Path]]:
    """Make folders of unpacked archives from the text of a player.py, or from texts by file name; remove them later."""
    # Paths of sockets must be short, and players run as another user, but pytest's own folders are deep and private.
    root = Path(tempfile.mkdtemp(prefix="arena-"))
    root.chmod(0o755)
    made = []
    for number, source in enumerate(sources):
        folder = root / str(number)
        folder.mkdir()
        for name, text in ({"player.py": source} if isinstance(source, str) else source).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        made.append(folder)
    try:
        yield made
    finally:
        shutil.rmtree(root)


def play(
    player_1: str | Mapping[str, str],
    player_2: str | Mapping[str, str] = GOOD,
    *,
    environment: str = "tic-tac-toe-v1",
    matches: int = 4,
    parallel: int = 4,
    limits: Limits = LIMITS,
    sandboxed: Callable[[Path], Sandbox] = ProcessSandbox,
) -> PlayedDuel:
    """Play a duel, in the process sandbox if no other is given. sandboxed: makes one with this folder for channels.

    In local processes, a player that `player` has made without `top` shares its start with those of other duels.
    """
    sources = (player_1, player_2)
    with folders(*sources) as made:
        channels = made[0].parent / "c"
        channels.mkdir(0o711)
        sandbox = sandboxed(channels)

        def launch(index: int) -> Container:
            source = sources[index]
            if sandboxed is ProcessSandbox and isinstance(source, str) and source.startswith(WITHOUT_TOP):
                return stages().slot(index, source, limits)
            name = f"arena-play-{os.getpid()}-{next(COUNTER)}"
            return sandbox.launch(Launch(f"folder:{made[index]}", name, limits, {}))

        duel = run_duel(
            get_spec(environment),
            launch,
            names=("one", "two"),
            seed=7,
            match_count=matches,
            parallel_matches=parallel,
            limits=limits,
            clock=time.monotonic,
        )
        assert list(channels.iterdir()) == []
    return duel
