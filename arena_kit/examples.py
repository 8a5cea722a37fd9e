"""Packs example players into archives: `python -m arena_kit.examples [NAME ...] --output FOLDER`.

Players that learn are trained first, each for one environment. Their weights are kept in `data/examples`, outside git,
and used again next time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from arena_kit.content import LIBRARY, content_folder
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.zips import zip_bytes

FOLDER = content_folder("example_players")
ENTRY_POINT = "player.py"
OWN_PLAYERS = "players"
OWN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}", re.IGNORECASE)
LEFT_OUT = frozenset({"__pycache__"})
NAME_CHARACTERS = 100
"""At most this many characters of an environment's name go into the name of a folder."""

STORE = FOLDER.parent / "data" / "examples"
"""The default folder for weights."""
GAMES = ("connect-four", "quarto", "tic-tac-toe")
GRIDS = ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4")
BOXES = ("Pendulum-v1", "BipedalWalker-v3", "Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Walker2d-v5")
"""Environments whose actions are arrays."""


@dataclass(frozen=True, slots=True)
class Example:
    """Which environments an example player can play.

    environments: slugs of games and ids of Gymnasium; empty for every environment whose actions are numbers. A player
    that learns is trained for the first one by default. arrays: whether it also plays BOXES. weights: the file that its
    `train.py` writes; empty when it does not learn.
    """

    environments: tuple[str, ...] = ()
    arrays: bool = False
    weights: str = ""

    def fits(self, environment: str, *, takes_arrays: bool) -> bool:
        """Return whether it plays an environment, named as in `environments`."""
        if self.environments:
            return environment in self.environments
        return not takes_arrays or (self.arrays and environment in BOXES)


EXAMPLES: Mapping[str, Example] = {
    "cem": Example(("CartPole-v1",), weights="weights.npy"),
    "deep_search": Example(GAMES),
    "dqn": Example(("CartPole-v1",), weights="weights.npz"),
    "lunar_lander": Example(("LunarLander-v3",)),
    "minimax": Example(GAMES),
    "model_browser": Example(("applications",)),
    "pong_aim": Example(("pong",)),
    "pong_follow": Example(("pong",)),
    "pong_q": Example(("pong",), weights="q_table.npy"),
    "q_learning": Example(GRIDS, weights="q_table.npy"),
    "random": Example(arrays=True),
    "reinforce": Example(("CartPole-v1",), weights="weights.npz"),
    "shop_clerk": Example(("shop",)),
    "sarsa": Example(("CliffWalking-v1", "FrozenLake-v1", "Taxi-v4"), weights="q_table.npy"),
}
"""The use of each example player; those not listed here play every environment whose actions are numbers."""


class UnknownPlayer(LookupError):
    """There is no example player of this name; the message lists the known ones."""


class TrainingFailed(RuntimeError):
    """A `train.py` ended without writing weights; the message names the command to run it again."""


def names(environment: str | None = None) -> tuple[str, ...]:
    """Return the sorted names of all example players, or of those that play an environment.

    environment: a name in the arena (`connect-four`, `cart-pole`) or an id of Gymnasium (`CartPole-v1`).
    """
    found = sorted(path.parent.name for path in FOLDER.glob(f"*/{ENTRY_POINT}"))
    if environment is None:
        return tuple(found)
    what, _ = _made_of(environment)
    takes_arrays = _takes_arrays(environment)
    return tuple(name for name in found if _example(name).fits(what, takes_arrays=takes_arrays))


def own_players(spec: EnvironmentSpec) -> dict[str, Path]:
    """Return the folders of the example players in `players/` of an organiser's folder, by their names."""
    if not spec.is_outside or spec.gymnasium is not None:
        return {}
    found = sorted(path.parent for path in spec.file.parent.glob(f"{OWN_PLAYERS}/*/{ENTRY_POINT}"))
    return {folder.name: folder for folder in found if OWN_NAME.fullmatch(folder.name)}


def own_archive(folder: Path) -> bytes:
    """Return the zip of an example player of `own_players`."""
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    shown = {path: file for path, file in files.items() if LEFT_OUT.isdisjoint(path.parts)}
    return zip_bytes([(path.as_posix(), file.read_bytes()) for path, file in shown.items()])


def make_archive(
    name: str,
    environment: str = "",
    arguments: Mapping[str, Any] | None = None,
    *,
    train: bool = False,
    quiet: bool = False,
    store: Path = STORE,
) -> bytes:
    """Return the zip of one example player; the same files always give the same bytes.

    environment: the environment of a player that learns, named as for `names`; empty for the first that it plays.
    arguments: more arguments for `gymnasium.make`, besides those of the arena's environment. train: whether to train
    the player when `store` has no weights for it; if not, the zip has no weights, and the player needs its `train.py`
    run before it can play. quiet: whether the training prints its errors alone.

    Raises UnknownPlayer and TrainingFailed.
    """
    if name not in names():
        raise UnknownPlayer(f"There is no example player {name!r}. The players are: {', '.join(names())}.")
    folder, example = FOLDER / name, _example(name)
    # Weights beside the code are left out, because it is unknown which environment they were trained for.
    files = {path.relative_to(folder).as_posix(): path for path in _files(folder) if path.name != example.weights}
    if example.weights:
        learned_in, own_arguments = _made_of(environment or example.environments[0])
        given = {**own_arguments, **(arguments or {})}
        weights = _weights_path(folder, learned_in, given, store)
        if train and not weights.exists():
            _train(folder, learned_in, given, weights, quiet=quiet)
        if weights.exists():
            files[example.weights] = weights
    return zip_bytes((inside, path.read_bytes()) for inside, path in files.items())


def write_archives(
    folder: Path,
    wanted: Sequence[str] = (),
    environment: str = "",
    arguments: Mapping[str, Any] | None = None,
    *,
    store: Path = STORE,
) -> list[Path]:
    """Write the zips of example players into a folder, training those that learn; return the paths.

    wanted: names; empty for all that play the environment, or for all when no environment is given. The other
    arguments are those of `make_archive`. Raises UnknownPlayer and TrainingFailed.
    """
    archives = {
        name: make_archive(name, environment, arguments, train=True, store=store)
        for name in wanted or names(environment or None)
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in archives.items():
        path = folder / f"{name}.zip"
        path.write_bytes(content)
        paths.append(path)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = ArgumentParser(
        prog="python -m arena_kit.examples", description="Pack example players into zips; train those that learn."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"default: all that play the environment ({', '.join(names())})"
    )
    parser.add_argument(
        "--environment", default="", help="slug, or id of Gymnasium; default: the first that each player plays"
    )
    parser.add_argument(
        "--arguments", type=json.loads, default={}, metavar="JSON", help="""e.g. '{"is_slippery": false}'"""
    )
    parser.add_argument("--output", type=Path, default=Path(), metavar="FOLDER", help="for the zips; default: here")
    parser.add_argument("--store", type=Path, default=STORE, metavar="FOLDER", help="for weights; default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        paths = write_archives(
            options.output, options.names, options.environment, options.arguments, store=options.store
        )
    except (UnknownPlayer, TrainingFailed) as error:
        parser.error(str(error))
    sys.stdout.writelines(f"{path}\n" for path in paths)
    return 0


def _example(name: str) -> Example:
    return EXAMPLES.get(name, Example())


def _made_of(environment: str) -> tuple[str, Mapping[str, Any]]:
    """Return the slug of a game, or the id of Gymnasium and the arguments behind one of the arena's environments."""
    try:
        spec = get_spec(environment)
    except UnknownEnvironment:
        return environment, {}
    return (spec.slug, {}) if spec.gymnasium is None else (spec.gymnasium.id, spec.gymnasium.arguments)


def _takes_arrays(environment: str) -> bool:
    try:
        return get_spec(environment).action is not None
    except UnknownEnvironment:
        return environment in BOXES


def _weights_path(folder: Path, environment: str, arguments: Mapping[str, Any], store: Path) -> Path:
    """Return the path of the weights, which differs for every environment, its arguments and the code that trains."""
    seen = json.dumps([environment, arguments, version("gymnasium"), version("numpy")], sort_keys=True)
    trains = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")) if path.name != ENTRY_POINT)
    digest = hashlib.sha256(seen.encode() + trains).hexdigest()
    # The name may hold slashes, and it may come from a request.
    where = re.sub(r"[^\w.-]", "_", environment, flags=re.ASCII)[:NAME_CHARACTERS]
    return store / f"{folder.name}-{where}-{digest[:16]}" / _example(folder.name).weights


def _train(folder: Path, environment: str, arguments: Mapping[str, Any], weights: Path, *, quiet: bool) -> None:
    """Run `train.py`, which prints to this process's output. quiet: its errors alone."""
    weights.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=weights.parent) as unfinished:
        new = Path(unfinished) / weights.name
        command = ["train.py", environment, "--arguments", json.dumps(arguments), "--output", str(new.resolve())]
        # One thread: the matrices are too small to share, and other work needs the cores.
        variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        # In a checkout, arena_kit is found by its place alone.
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(LIBRARY.parent), variables.get("PYTHONPATH")]))
        output = subprocess.DEVNULL if quiet else None
        done = subprocess.run([sys.executable, *command], cwd=folder, env=variables, check=False, stdout=output)
        if done.returncode or not new.exists():
            raise TrainingFailed(
                f"Training {folder.name} ended with status {done.returncode} and wrote no weights. The output above "
                f"says why. To see it alone, run in {folder.name}: python train.py {environment}"
            )
        new.replace(weights)


def _files(folder: Path) -> list[Path]:
    """Return the files of a player without caches and hidden files."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") or part in LEFT_OUT for part in path.relative_to(folder).parts)
    ]


if __name__ == "__main__":
    sys.exit(main())
