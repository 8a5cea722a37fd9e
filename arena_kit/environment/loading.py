"""Loads the code of an environment from its folder, in the same way for shipped ones and organisers' own."""

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
    """Return the object that `module:name` names; a module in the folder comes before an installed one.

    The modules of a folder form a package of their own, so that `from .rules import ...` works and modules of the same
    name in two folders do not clash. Raises ImportError, AttributeError, and anything that the module raises.
    """
    module, _, name = entry_point.partition(":")
    first = module.partition(".")[0]
    if (folder / f"{first}.py").is_file() or (folder / first / "__init__.py").is_file():
        module = f"{_package_of(folder.resolve())}.{module}"
    return getattr(import_module(module), name)


def _package_of(folder: Path) -> str:
    """Return the name of the package that a folder's modules belong to, after making it on first use."""
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    name = f"arena_environment_{digest}"
    if name not in sys.modules:
        package = ModuleType(name, f"The environment in {folder.name}.")
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name
