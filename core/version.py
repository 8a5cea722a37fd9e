"""The version of the arena."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


@cache
def arena_version() -> str:
    """Return the version in pyproject.toml: the arena runs from its folder and is never installed as a package."""
    with PROJECT.open("rb") as file:
        version: str = tomllib.load(file)["project"]["version"]
    return version
