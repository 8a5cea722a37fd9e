"""Folders of Nim in which something was changed, and zips of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from arena_kit.tests.environment.outside import FOLDERS
from arena_kit.zips import zip_bytes

RESET = "        self._stones = 10\n"
"""The line of Nim's rules at which every match begins."""


def nim(parent: Path, name: str = "nim", *, begins: str = "", **edits: tuple[str, str]) -> Path:
    """Copy Nim under another slug; return its folder.

    begins: a line that runs at the beginning of every match. edits: what is replaced, by file without its ending.
    """
    folder = Path(shutil.copytree(FOLDERS / "nim", parent / name, ignore=shutil.ignore_patterns("__pycache__")))
    changes = [("info.yml", "slug: nim", f"slug: {name}")]
    changes += [("environment.py", RESET, f"{RESET}        {begins}\n")] if begins else []
    changes += [("info.yml" if file == "info" else f"{file}.py", *pair) for file, pair in edits.items()]
    for file, before, after in changes:
        text = (folder / file).read_text(encoding="utf-8")
        assert before in text
        (folder / file).write_text(text.replace(before, after), encoding="utf-8")
    return folder


def zipped(folder: Path, root: str = "") -> bytes:
    """Return the zip of a folder. root: the folder in the zip; its own name by default."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return zip_bytes(
        (f"{root or folder.name}/{path.relative_to(folder).as_posix()}", path.read_bytes()) for path in files
    )
