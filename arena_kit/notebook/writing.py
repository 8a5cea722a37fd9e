"""`arena_kit.write_agent`: the folder of an agent from a class or a function of a notebook."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from arena_kit.notebook.source import CannotWrite, Collected

Files = Mapping[str, str | Path | bytes] | Iterable[str | Path] | str | Path
MARK = "# Written by arena_kit.write_agent."
ALWAYS_THERE = frozenset({"numpy"})
"""Packages that every player has."""
FORMS = ("Player", "Agent", "act", "get_action", "predict", "agent", "create_agent")
"""Names by which the arena finds what plays."""
CALLS = """class Player:
    def start(self, state, valid_actions):
        return {name}(state, valid_actions)

    def step(self, state, valid_actions, prev_reward):
        return {name}(state, valid_actions)

    def end(self, state, prev_reward):
        pass"""


def write_agent(player: Any, folder: str | Path, files: Files = (), requirements: Iterable[str] | None = None) -> Path:
    """Write the folder of an agent from a class or a function of a notebook; return its path, e.g. for `check`.

    player.py gets its source and, of what it uses, the imports, the functions and classes of the notebook, and plain
    values. Arrays of NumPy and long values go into files beside it, as they are now.

    player: a class with the player contract, `act` and the like, or a function of (state, valid_actions). folder: its
    path; of an existing one, only files that this function writes are replaced. files: more files, such as weights: the
    path of each file or folder, or what it holds as bytes, by its path in the agent's folder; or just paths, or one.
    requirements: the lines of requirements.txt; None for the packages that the source imports.

    Raises CannotWrite, a ValueError, which names what is missing, and OSError.
    """
    name = getattr(player, "__name__", "")
    if not name or not (isinstance(player, type) or inspect.isfunction(inspect.unwrap(player))):
        raise CannotWrite(f"Give the class or the function, not a {type(player).__name__} made of it.")
    target, more = Path(folder), dict(_contents(files))
    if (target / "player.py").is_file() and MARK not in (target / "player.py").read_text(encoding="utf-8"):
        raise CannotWrite(f"{target} holds a player.py of your own. Choose another folder, or move it away.")
    found = Collected()
    found.add(player)
    # A module beside the notebook is no package that the arena could install.
    packages = packages_distributions()
    needed: dict[str, None] = {}
    for module in sorted(found.modules - sys.stdlib_module_names - ALWAYS_THERE):
        if module in packages:
            needed[packages[module][0]] = None
        elif not {f"{module}.py", f"{module}/__init__.py"} & more.keys():
            raise CannotWrite(f'{name} imports {module}, which is a file of your own: files=["{module}.py"].')
    lines = list(needed) if requirements is None else list(requirements)
    more |= {f"{array}.npy": _saved(value) for array, value in found.arrays.items()}
    more |= {f"{value}.txt": text.encode() for value, text in found.literals.items()}
    more["player.py"] = _source(found, player, name).encode()
    if lines:
        more["requirements.txt"] = "".join(f"{line}\n" for line in lines).encode()
    for path, content in more.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    return target


def _source(found: Collected, player: Any, name: str) -> str:
    imports = dict(found.imports)
    data = [f'{value} = ast.literal_eval((HERE / "{value}.txt").read_text("utf-8"))' for value in found.literals]
    if data:
        imports["import ast"] = None
    data += [f'{array} = np.load(HERE / "{array}.npy")' for array in found.arrays]
    if found.arrays:
        imports["import numpy as np"] = None
    if data:
        imports["from pathlib import Path"] = None
        data.insert(0, "HERE = Path(__file__).resolve().parent")
    parts = [MARK, "\n".join(imports), "\n".join(data), *found.parts]
    if name not in FORMS and isinstance(player, type):
        form = "Player" if hasattr(player, "step") else "Agent"
        parts.append(f"{form} = {name}")
    elif name not in FORMS:
        parts.append(CALLS.format(name=name))
    return "\n\n\n".join(filter(None, parts)) + "\n"


def _contents(files: Files) -> Iterable[tuple[str, bytes]]:
    """Yield the given files, by their paths in the agent's folder. Raises CannotWrite."""
    if isinstance(files, (str, Path)):
        files = [files]
    given = files.items() if isinstance(files, Mapping) else [(Path(path).absolute().name, path) for path in files]
    for name, content in given:
        if not Path(name).name or Path(name).anchor or ".." in Path(name).parts:
            raise CannotWrite(f"{name!r} is not a path in the agent's folder.")
        if isinstance(content, bytes):
            yield name, content
        elif Path(content).is_dir():
            inside = (path for path in sorted(Path(content).rglob("*")) if path.is_file())
            yield from ((f"{name}/{path.relative_to(content).as_posix()}", path.read_bytes()) for path in inside)
        elif Path(content).is_file():
            yield name, Path(content).read_bytes()
        else:
            raise CannotWrite(f"There is no file {content}.")


def _saved(array: Any) -> bytes:
    # Late: a player of lists needs no NumPy.
    import numpy as np

    target = io.BytesIO()
    np.save(target, array, allow_pickle=False)
    return target.getvalue()
