"""Registers the environments of the arena with Gymnasium as `arena/NAME`, as soon as a program imports Gymnasium.

Gymnasium takes a third of a second to import and reads no entry points of packages, so `import arena_kit` alone leaves
it to a finder that waits for it.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gymnasium.envs.registration import EnvSpec

GYMNASIUM, NAMESPACE, MAKER = "gymnasium", "arena", "arena_kit:make"


class _Waiting:
    """A finder that finds Gymnasium where the other finders do, and lets its import end with `register`."""

    is_looking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != GYMNASIUM or self.is_looking:
            return None
        self.is_looking = True
        try:
            found = importlib.util.find_spec(name)
        finally:
            self.is_looking = False
        if found is not None and found.loader is not None:
            load = found.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                register()

            found.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one loader
        return found


def register_soon() -> None:
    """Register the environments now if Gymnasium is imported already, and otherwise when it is."""
    if GYMNASIUM in sys.modules:
        register()
    elif not any(type(finder).__name__ == _Waiting.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


def register() -> None:
    """Register every shipped environment under its name. Reads the names of files alone, because it runs at imports."""
    from gymnasium.envs.registration import registry

    # Late: `import arena_kit` alone stays quick.
    from arena_kit.content import content_folder

    folder = content_folder("environments")
    slugs = [info.parent.name.replace("_", "-") for info in folder.glob("*/info.yml")]
    slugs += [file.stem for file in (folder / GYMNASIUM).glob("*.yml")]
    for slug in slugs:
        registry.setdefault(f"{NAMESPACE}/{slug}", env_spec(slug))


def env_spec(slug: str, **arguments: Any) -> EnvSpec:
    """Return what Gymnasium keeps of an environment. arguments: those of `arena_kit.make`."""
    from gymnasium.envs.registration import EnvSpec

    return EnvSpec(f"{NAMESPACE}/{slug}", entry_point=MAKER, kwargs={"environment": slug, **arguments})
