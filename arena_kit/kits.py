"""Starter kits: folders that play at once, pass the checks of an upload, and say in a short README what comes next."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.examples import FOLDER as EXAMPLES_FOLDER
from arena_kit.examples import GAMES, names
from arena_kit.machine.processes import quoted
from arena_kit.zips import zip_bytes

FOLDER = EXAMPLES_FOLDER / "kits"
NEXT = FOLDER / "NEXT.md"
"""The end of every README."""
PULLED = "environments"
"""The folder into which `arena pull` writes environments."""
SMALL_STATE = 10
"""A table of values is of use where a state has at most this many whole numbers."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")


class UnknownKit(ArenaEnvironmentError):
    """There is no such kit, or it does not fit the environment; the message lists the kits that do."""


class BadName(ArenaEnvironmentError):
    """The name of a new folder cannot be used; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Kit:
    """A starter kit. about: a few words. fits: whether it can play an environment. files: the file names of an example
    player that it is made of, by their paths from the folder of example players."""

    name: str
    about: str
    fits: Callable[[EnvironmentSpec], bool]
    files: tuple[str, ...] = ()


def _is_small_table(spec: EnvironmentSpec) -> bool:
    array = spec.observation
    is_whole = not array.wire.startswith("float")
    return spec.action is None and is_whole and len(array.shape) == 1 and array.shape[0] <= SMALL_STATE


def runs_by_id(spec: EnvironmentSpec) -> bool:
    """Return whether a script can make the environment: it has a Gymnasium id and passes no arguments."""
    return spec.gymnasium is not None and not spec.gymnasium.arguments


KITS: tuple[Kit, ...] = (
    Kit("random", "plays any valid action", lambda spec: "random" in names(spec.slug), ("random/player.py",)),
    Kit("minimax", "looks a few moves ahead", lambda spec: spec.slug in GAMES, ("minimax/player.py",)),
    Kit("q-learning", "learns a table of values in seconds", _is_small_table),
    Kit("torch", "learns a policy network with PyTorch", lambda spec: spec.action is None),
    Kit("script", "learns and scores itself in one run", runs_by_id, ("script/submission.py",)),
)
"""Each has a folder of its name in `example_players/kits/`, with the files that no example player has."""


def kits_for(spec: EnvironmentSpec) -> tuple[Kit, ...]:
    """Return the kits that fit an environment, the simplest first."""
    return tuple(kit for kit in KITS if kit.fits(spec))


def kit_files(spec: EnvironmentSpec, kit: str, name: str, environments: str = "") -> Mapping[str, bytes]:
    """Return the files of a kit for an environment by their names; `name` is that of their folder.

    environments: the folder of an environment that arena-kit does not hold; empty for that of `arena pull`.
    Raises UnknownKit and BadName.
    """
    fitting = kits_for(spec)
    chosen = next((one for one in fitting if one.name == kit), None)
    if chosen is None:
        listed = ", ".join(one.name for one in fitting)
        known = any(one.name == kit for one in KITS)
        what = f"The kit {kit} does not fit {spec.name}" if known else f"There is no kit {kit!r}"
        raise UnknownKit(f"{what}. The kits for {spec.name} are: {listed}.")
    if not NAME.fullmatch(name):
        raise BadName(
            f"{name!r} cannot be the name of an agent's folder: use letters, digits, - and _, at most 50 of them."
        )
    # At home the rules are in a folder, because arena-kit does not hold them.
    is_pulled = spec.runs_apart and not environments
    environments = (environments or PULLED) if spec.runs_apart else ""
    option = f" --environments {quoted(environments)}" if environments else ""
    values = {
        "name": name,
        "agent": name.replace("_", "-").lower(),
        "title": spec.name,
        "environment": spec.slug,
        "environments": environments,
        "pull": f"arena pull {spec.slug}\n" if is_pulled else "",
        "option": option,
        "play": _play_command(spec, chosen, name, option),
    }
    files = {Path(path).name: (EXAMPLES_FOLDER / path).read_bytes() for path in chosen.files}
    for path in sorted((FOLDER / chosen.name).iterdir()):
        if path.is_file():
            files[path.name] = path.read_bytes()
    files["README.md"] += NEXT.read_bytes()
    for path_name in {"README.md", "train.py"} & set(files):
        files[path_name] = Template(files[path_name].decode()).safe_substitute(values).encode()
    if "train.py" in files and spec.seats == 1:
        files["train.py"] = files["train.py"].replace(b"; unused with one seat", b"; unused, because there is one seat")
    return files


def kit_zip(spec: EnvironmentSpec, kit: str, name: str) -> bytes:
    """Return a kit as a zip that can be uploaded as it is. Raises UnknownKit and BadName."""
    return zip_bytes(kit_files(spec, kit, name).items())


def kit_write(folder: Path, spec: EnvironmentSpec, kit: str, environments: str = "") -> list[Path]:
    """Write a kit into a new folder; return the paths of its files.

    environments: as in `kit_files`. An existing folder is never touched. Raises UnknownKit, BadName,
    FileExistsError and other OSError.
    """
    files = kit_files(spec, kit, folder.name, environments)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def _play_command(spec: EnvironmentSpec, kit: Kit, name: str, option: str) -> str:
    if kit.name == "script":
        identity = spec.gymnasium.id if spec.gymnasium else spec.slug
        return f"arena script {name} --environment {identity}"
    if spec.seats == 1:
        return f"arena evaluate {name} --environment {spec.slug}{option} --episodes 20"
    return f"arena play {name} {name} --environment {spec.slug}{option} --matches 20"
