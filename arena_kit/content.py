"""Where the shipped environments and example players are: folders that are read, never packages that are imported."""

from __future__ import annotations

from pathlib import Path

LIBRARY = Path(__file__).resolve().parent


def content_folder(name: str) -> Path:
    """The folder `environments` or `example_players`: inside an installed wheel, else at the root of a checkout."""
    installed = LIBRARY / "content" / name
    return installed if installed.is_dir() else LIBRARY.parent / name
