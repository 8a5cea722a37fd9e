"""Loads the code of an environment from its folder, in the same way for shipped ones and organisers' own.

The modules of a folder form a package of their own, `arena_environments.NAME`, which is found by its path. Relative
imports work in it, modules of the same name in two folders do not clash, and neither `sys.path` nor a name outside of
that package changes. What the older arena offered to its environments by name (`environments.base_environment`, and a
module beside the one that imports it) is given to the modules of such a folder alone, by an `__import__` of their own.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib.abc
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

PARENT = "arena_environments"
"""The package that holds a package for every folder."""
CLASSIC_PACKAGE = "environments"
"""The name by which environments of the older arena imported each other and their base class."""
CLASSIC_BASE = f"{CLASSIC_PACKAGE}.base_environment"
LIBRARY = "arena_kit"
"""Always means this library, even to a folder that has a module of this name."""
_folders: dict[str, Path] = {}
"""By name of its package: the folder."""


@cache  # every match makes its environment anew: looking into the folder each time took a third of a bare match
def load(entry_point: str, folder: Path) -> Any:
    """Return the object that `module:name` names; a module in the folder comes before an installed one.

    Raises ImportError, AttributeError, and anything that the module raises.
    """
    module, _, name = entry_point.partition(":")
    if _is_module(folder, module.partition(".")[0]):
        module = f"{_package_of(folder.resolve())}.{module}"
    return getattr(import_module(module), name)


def _is_module(folder: Path, name: str) -> bool:
    # A second arena_kit would have error classes of its own, and the referee would not know an illegal action by them.
    if name == LIBRARY:
        return False
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()


def _package_of(folder: Path) -> str:
    """Return the name of the package that a folder's modules belong to, after making it on first use."""
    if PARENT not in sys.modules:
        parent = ModuleType(PARENT, "The environments that were loaded from folders.")
        parent.__path__ = []
        sys.modules[PARENT] = parent
        sys.meta_path.insert(0, _Finder())  # before the usual one, which would find these modules, too
    name = f"{PARENT}.{re.sub(r'[^0-9A-Za-z_]', '_', folder.name)}"
    if _folders.get(name, folder) != folder:
        name = f"{name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name, f"The environment in {folder.name}.")
        package.__path__ = [str(folder)]
        _folders[name] = folder
        sys.modules[name] = package
    return name


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of loaded folders, and no others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{PARENT}.") or path is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Runs a module of a folder with the `__import__` of its folder."""

    def exec_module(self, module: ModuleType) -> None:
        package = ".".join(module.__name__.split(".")[:2])
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": partial(_import, package)}
        super().exec_module(module)


def _import(
    package: str,
    name: str,
    globals: Mapping[str, object] | None = None,  # noqa: A002  (the names of the built-in function)
    locals: Mapping[str, object] | None = None,  # noqa: A002  (the name of `__import__`)
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import a module for one of a folder's modules; the names of the older arena lead to what stands for them."""
    first, _, rest = name.partition(".")
    if level == 0 and first == CLASSIC_PACKAGE and (not rest or _is_classic(package, rest)):
        return _classic(package, name, fromlist or ())
    if level == 0 and first not in sys.stdlib_module_names and _is_module(_folders[package], first):
        # A module beside this one, imported as people do in a folder that they run from.
        found = import_module(f"{package}.{name}")
        return found if fromlist else sys.modules[f"{package}.{first}"]
    return builtins.__import__(name, globals, locals, fromlist or (), level)


def _is_classic(package: str, rest: str) -> bool:
    """Return whether `environments.<rest>` is the base class or the folder itself."""
    return rest == "base_environment" or rest.partition(".")[0] == package.partition(".")[2]


def _classic(package: str, name: str, fromlist: Sequence[str]) -> ModuleType:
    """Return what `import environments...` gives to the modules of a folder; other modules never see it."""
    base = import_module("arena_kit.environment.adapters.classic.base")
    if name == CLASSIC_BASE and fromlist:
        return base
    own = package.partition(".")[2]
    if fromlist and name != CLASSIC_PACKAGE:
        rest = name.split(".")[2:]
        return import_module(".".join([package, *rest]))
    top = ModuleType(CLASSIC_PACKAGE)
    top.__dict__.update({"base_environment": base, own: sys.modules[package]})
    return top
