"""Loads the code of an environment from its folder: a shipped one and an organiser's own alike."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


@cache  # every match makes its environment anew: looking into the folder each time took a third of a bare match
def load(entry_point: str, folder: Path) -> Any:
    """What `module:name` stands for: a module of the folder where it has one of that name, else an installed one.

    Modules of a folder form a package of their own, so that `from .rules import ...` works and the modules of two
    folders never replace each other. Raises ImportError or AttributeError, and whatever the module raises.
    """
    module, _, name = entry_point.partition(":")
    first = module.partition(".")[0]
    if (folder / f"{first}.py").is_file() or (folder / first / "__init__.py").is_file():
        module = f"{_package_of(folder.resolve())}.{module}"
    return getattr(import_module(module), name)


def _package_of(folder: Path) -> str:
    """The name of the package that a folder's modules belong to; made on first use."""
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    name = f"arena_environment_{digest}"
    if name not in sys.modules:
        package = ModuleType(name, f"The environment in {folder.name}.")
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name
