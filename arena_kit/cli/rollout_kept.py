"""Packages that `arena rollout` has built: kept by their content, so that a package is built once."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from docker.errors import ImageNotFound

from arena_kit.image.calls import engine, engine_errors
from arena_kit.rollout.building.build import package_build, package_remove, package_tag
from arena_kit.rollout.building.images import Bases
from arena_kit.rollout.packages.package import Package
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.host import DockerWorlds
from arena_kit.rollout.worlds.stored import built_as_json, built_of
from arena_kit.zips import zip_bytes

BUILT, FRESH, UPLOADS = "built.json", "fresh.zip", "uploads.zip"
MOST_KEPT = 4
"""How many built packages are kept; those that were not used for longest go."""


def kept_folder() -> Path:
    """Return the folder with what is known of the built packages; their images are on the engine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arena-kit" / "packages"


def built_once(
    file: IO[bytes], package: Package, *, worlds: DockerWorlds, bases: Bases, seed: int, on_build: Callable[[], None]
) -> BuiltPackage:
    """Return a package with its images: those of an earlier command, or new ones. Raises as `package_build`."""
    folder = kept_folder() / package_tag(package.sha256, seed)
    built = kept_read(package, seed)
    if built is None or not _has_images(built):
        on_build()
        built = package_build(file, package, worlds=worlds, bases=bases, log=lambda _: None, seed=seed)
        folder.mkdir(parents=True, exist_ok=True)
        fresh_write(folder, built)
        (folder / UPLOADS).write_bytes(zip_bytes(built.uploads.items()))
        (folder / BUILT).write_text(json.dumps(built_as_json(built)), encoding="utf-8")
    folder.touch()
    _remove_old(bases)
    return built


def kept_read(package: Package, seed: int) -> BuiltPackage | None:
    """Return a package as it was built before; None if it was not, or cannot be read."""
    return _read(kept_folder() / package_tag(package.sha256, seed))


def fresh_write(folder: Path, built: BuiltPackage) -> None:
    """Write what a fresh world exports, by which a rollout can be judged again without a world."""
    (folder / FRESH).write_bytes(zip_bytes(built.fresh.items()))


def fresh_read(folder: Path) -> Mapping[str, bytes]:
    """Return what `fresh_write` has written. Raises OSError and BadZipFile."""
    return _unpacked(folder / FRESH)


def _read(folder: Path) -> BuiltPackage | None:
    try:
        found = json.loads((folder / BUILT).read_text(encoding="utf-8"))
        return built_of(found, fresh=fresh_read(folder), uploads=_unpacked(folder / UPLOADS))
    except (OSError, ValueError, zipfile.BadZipFile):
        return None


def _unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _has_images(built: BuiltPackage) -> bool:
    with engine() as client, engine_errors():
        try:
            for each in built.services:
                client.images.get(each.image)
        except ImageNotFound:
            return False
    return True


def _remove_old(bases: Bases) -> None:
    newest_first = sorted(kept_folder().iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in newest_first[MOST_KEPT:]:
        if (built := _read(folder)) is not None:
            package_remove(built, bases)
        shutil.rmtree(folder, ignore_errors=True)
