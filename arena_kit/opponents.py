"""Finds the opponent to train against: random play, an example player, a folder, an archive, own code.

The code of an opponent runs in this process, without any sandbox: use it for players that you trust.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.examples import FOLDER, names
from arena_kit.folders import own_temporary_folder
from arena_kit.sandbox.inside.player_server.forms import adapt

ENTRY_POINTS = ("player.py", "agent.py", "main.py")
RANDOM = "random"
_numbers = itertools.count(1)
_at_exit = contextlib.ExitStack()
atexit.register(_at_exit.close)


class UnknownOpponent(ArenaEnvironmentError):
    """There is no such opponent, or it cannot be loaded; the message lists what there is."""


class RandomPlayer:
    """Plays any valid action, each with the same probability; a seed repeats its actions."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def start(self, state: Any, valid_actions: Sequence[int]) -> int:
        return int(self._random.choice(valid_actions))

    def step(self, state: Any, valid_actions: Sequence[int], prev_reward: float) -> int:
        return int(self._random.choice(valid_actions))

    def end(self, state: Any, prev_reward: float) -> None:
        pass


class _Answers:
    """Gives a function of state and valid actions the player contract."""

    def __init__(self, choose: Callable[[Any, Any], Any]) -> None:
        self._choose = choose

    def start(self, state: Any, valid_actions: Any) -> Any:
        return self._choose(state, valid_actions)

    def step(self, state: Any, valid_actions: Any, prev_reward: float) -> Any:
        return self._choose(state, valid_actions)

    def end(self, state: Any, prev_reward: float) -> None:
        pass


def opponent_maker(spec: EnvironmentSpec, opponent: Any) -> Callable[[int], Any]:
    """Return a function that takes a seed and returns an object with the player contract.

    opponent: `"random"`; the name of an example player that fits; the path of a folder or zip with a player; a class
    with the player contract; an object with it; or a function of (state, valid_actions). Raises UnknownOpponent.
    """
    if opponent == RANDOM:
        return RandomPlayer
    if isinstance(opponent, (str, Path)):
        return _seeded(_maker_of_path(spec, opponent))
    if inspect.isclass(opponent):
        return _seeded(_maker_of_class(opponent))
    if callable(getattr(opponent, "start", None)) and callable(getattr(opponent, "step", None)):
        return lambda _: opponent
    if callable(opponent):
        return lambda _: _Answers(opponent)
    raise UnknownOpponent(f"{opponent!r} is neither a name, a path, a player nor a function.")


def _maker_of_class(found: type) -> Callable[..., Any]:
    """Return what makes a player of a class in any form that an archive may have."""
    form = "Player" if hasattr(found, "step") else "Agent"
    try:
        make: Callable[..., Any] = adapt("player", SimpleNamespace(**{form: found, "__name__": found.__module__}))
    except RuntimeError as error:
        raise UnknownOpponent(f"{found.__name__} cannot play: {error}") from None
    return make


def _maker_of_path(spec: EnvironmentSpec, opponent: str | Path) -> Callable[..., Any]:
    path = Path(opponent)
    fitting = names(spec.slug)
    if str(opponent) in fitting and not path.exists():
        path = FOLDER / str(opponent)
    if path.is_file():
        path = _unpacked(path)
    if not path.is_dir():
        raise UnknownOpponent(
            f"There is no opponent {str(opponent)!r} for {spec.name}: neither a folder or zip of this name, nor one of "
            f"the example players {', '.join(fitting)}."
        )
    return _loaded(path)


def _unpacked(archive: Path) -> Path:
    # Late: most opponents are not zips.
    from arena_kit.upload.archive import unpack_archive
    from arena_kit.upload.zip_safety import ArchiveRefused

    # A player may read its files at any time, so they stay until this process ends.
    folder = _at_exit.enter_context(own_temporary_folder("arena-opponent-"))
    try:
        with archive.open("rb") as file:
            unpack_archive(file, folder / "player")
    except (ArchiveRefused, OSError) as refused:
        raise UnknownOpponent(f"{archive} cannot be unpacked: {refused}") from None
    return folder / "player"


def _loaded(folder: Path) -> Callable[..., Any]:
    """Import a player from its folder; its own modules do not stay importable, so that two players do not mix."""
    folder = folder.resolve()
    entry = next((folder / name for name in ENTRY_POINTS if (folder / name).is_file()), None)
    if entry is None:
        raise UnknownOpponent(f"The folder {folder} has no {', '.join(ENTRY_POINTS[:-1])} or {ENTRY_POINTS[-1]}.")
    name = f"arena_opponent_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, entry)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
        make: Callable[..., Any] = adapt(entry.stem, module)
    except Exception as error:
        raise UnknownOpponent(f"{entry} cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(folder))
        for other in set(sys.modules) - before:
            file = getattr(sys.modules[other], "__file__", None)
            if file and Path(file).is_relative_to(folder):
                del sys.modules[other]
    return make


def _seeded(make: Callable[..., Any]) -> Callable[[int], Any]:
    """Return a function that makes a player from a seed, which goes to players that take one, as the examples do."""
    try:
        takes_seed = "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):
        takes_seed = False
    return (lambda seed: make(False, seed=seed)) if takes_seed else (lambda _: make(False))
