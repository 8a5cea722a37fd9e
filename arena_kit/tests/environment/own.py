"""Organisers' own environments, good and broken, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from arena_kit.environment import registry

CODE = """
import os, time
import gymnasium

class Broken(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, **arguments):
        {trouble}

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {{}}

gymnasium.register("{name}-v0", Broken)
"""


def described(folder: Path, slug: str, gymnasium_id: str, **more: object) -> Path:
    """Write the file of an environment."""
    path = folder / f"{slug}.yml"
    data = {
        "slug": slug, "name": slug.title(), "description": "Of our own.", "action_count": 2, "max_steps": 5,
        "observation": {"shape": [2], "dtype": "float32", "wire": "float32"}, "gymnasium": {"id": gymnasium_id},
    }  # fmt: skip
    path.write_text(yaml.safe_dump({**data, **more}))
    return path


def coded(folder: Path, name: str, trouble: str) -> str:
    """Write a module with an environment that runs this code when it is made; return its id."""
    (folder / f"{name}.py").write_text(CODE.format(trouble=trouble, name=name.title()))
    return f"{name}:{name.title()}-v0"


@contextmanager
def own_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the files of a folder to all specs."""
    try:
        # Given back before the specs are forgotten, so that nothing reads this folder after it.
        with monkeypatch.context() as patch:
            patch.setattr(registry, "_own_folders", [folder])
            registry.forget()
            yield
    finally:
        registry.forget()
