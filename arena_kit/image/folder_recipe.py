"""Unpacks submissions into folders of this host, for the process sandbox and a person's own code."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from arena_kit.image.errors import BuildFailed
from arena_kit.image.leftovers import Needed
from arena_kit.image.recipe import BuildResult, Log, unpack
from arena_kit.upload.requirements import Requirements, unmet

FOLDER_PREFIX = "folder:"
_NAME = re.compile(r"s(\d+)-b(\d+)-[0-9a-f]+")
"""Matches the folders' names: submission, build, and the build's claim token."""


class FolderRecipe:
    """Unpacks archives into folders of this host, for the process sandbox."""

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        target = self._folder / name
        shutil.rmtree(target, ignore_errors=True)
        log("Step 1/2: check and unpack the archive")
        try:
            _, requirements, notes = unpack(archive, target, defaults, log)
        except BuildFailed:
            shutil.rmtree(target, ignore_errors=True)
            raise
        log(f"Step 2/2: requirements ({len(requirements.lines) or 'none'})")
        warnings = [*requirements.notes, *missing_here(requirements)]
        for warning in warnings:
            log(f"Warning: {warning}")
        warnings = [*notes, *warnings]
        return BuildResult(f"{FOLDER_PREFIX}{target}", tuple(warnings))

    def remove(self, image: str) -> None:
        target = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
        if image.startswith(FOLDER_PREFIX) and target.parent == self._folder.resolve():
            shutil.rmtree(target, ignore_errors=True)

    def push(self, image: str, *, still_wanted: Callable[[], None]) -> str:
        return ""

    def missing(self, launched: Mapping[str, str]) -> set[str]:
        return {image for image in launched if not Path(image.removeprefix(FOLDER_PREFIX)).is_dir()}

    def lost(self, pushed: Mapping[str, str], *, most: int) -> set[str]:
        return set()

    def sweep(self, needed: Callable[[], Needed]) -> None:
        if not self._folder.is_dir():
            return
        found = [(folder, name) for folder in self._folder.iterdir() if (name := _NAME.fullmatch(folder.name))]
        rows = needed()
        kept = {Path(image.removeprefix(FOLDER_PREFIX)).name for image in rows.images}
        for folder, name in found:
            if folder.name not in kept and not rows.spares(name[1], name[2]):
                shutil.rmtree(folder, ignore_errors=True)


def missing_here(requirements: Requirements) -> list[str]:
    """Return a sentence for each requirement that the arena's own Python does not meet."""
    installed = {row.name: row.version for row in importlib.metadata.distributions()}
    return [
        f"{line} is not installed: the process sandbox uses the arena's own Python."
        if version is None
        else f"{line} is required, but the process sandbox uses version {version} of the arena's Python."
        for line, version in unmet(requirements, installed)
    ]
