"""Folders from outside, good and hostile, for tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arena_kit.environment import registry
from arena_kit.environment.info import read_info
from arena_kit.environment.server.client import close_servers
from arena_kit.environment.spec import EnvironmentSpec

FOLDERS = Path(__file__).parent / "folders"
NAMES = ("nim", "classic_nim", "classic_connect_four")
CLASSIC_INFO = """
name: A game
slug: {slug}
image: game.svg
description: A game.
num_matches_in_duel: 10
memory_limit: 512m
cpu_limit: 1
"""
CLASSIC = """
import os, random, sys, time
import numpy as np

class Environment:
    def reset(self):
        self.left = 4
        return {state}, [0, 1]

    def step(self, action):
        self.left -= 1
        {before}
        return {result}

    def to_jsonable(self):
        return self.left

    @staticmethod
    def jsonable_to_html(jsonable):
        return f"<p>{{jsonable}}</p>"
"""
RESULT = "[self.left], int(self.left == 0), self.left == 0, [0, 1]"


def copied(name: str, parent: Path) -> Path:
    """Copy a good folder; return its `info.yml`."""
    return Path(shutil.copytree(FOLDERS / name, parent / name.replace("_", "-"))) / "info.yml"


def classic(
    parent: Path, slug: str, *, code: str = "", state: str = "[self.left]", before: str = "", result: str = RESULT,
    info: str = "",
) -> Path:  # fmt: skip
    """Write a classic folder; return its `info.yml`. code: replaces the whole of its code."""
    folder = parent / slug
    (folder / "static").mkdir(parents=True)
    made = code or CLASSIC.format(state=state, before=before, result=result)
    (folder / "environment.py").write_text(made)
    (folder / "info.yml").write_text(CLASSIC_INFO.format(slug=slug) + info)
    return folder / "info.yml"


def spec_of(name: str, **facts: object) -> EnvironmentSpec:
    """Return the spec of a good folder, whose code runs in this process."""
    from arena_kit.environment.adapters.classic.info import Facts

    return read_info(FOLDERS / name / "info.yml", Facts(**facts) if facts else None)  # type: ignore[arg-type]


@contextmanager
def outside(folder: Path, monkeypatch: pytest.MonkeyPatch, store: Path | None = None) -> Iterator[None]:
    """Let a folder be the only one of organisers."""
    try:
        # Given back before the specs are forgotten, so that nothing reads this folder after it.
        with monkeypatch.context() as patch:
            patch.setattr(registry, "_own_folders", [folder])
            patch.setattr(registry, "_stores", {} if store is None else {folder: store})
            registry.forget()
            yield
    finally:
        registry.forget()
        close_servers()
