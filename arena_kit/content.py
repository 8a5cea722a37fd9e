"""Finds the folders of the shipped environments and example players, which are data and never imported by name."""

from __future__ import annotations

from pathlib import Path

LIBRARY = Path(__file__).resolve().parent


def content_folder(name: str) -> Path:
    """Return the folder `environments` or `example_players`, from an installed wheel or the root of a checkout."""
    installed = LIBRARY / "content" / name
    return installed if installed.is_dir() else LIBRARY.parent / name
