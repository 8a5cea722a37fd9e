"""The resources of a build while its process lives, and what is removed of builds that were killed."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from arena_kit.errors import PlatformFault
from arena_kit.image.calls import engine, engine_errors
from arena_kit.image.labels import CONTAINER_LABEL
from arena_kit.rollout.building.images import untag
from arena_kit.sandbox.lock_file import LockFile, notes_alive

UNPACKED = "unpacked-"


@contextlib.contextmanager
def building(folder: Path, tag: str) -> Iterator[Path]:
    """Hold a lock and a folder for a build; both are gone when it ends, and free when its process dies.

    tag: of the package and the seed. Raises PlatformFault if another process builds the same one.
    """
    lock = LockFile(folder, note=tag)
    try:
        if list(notes_alive(folder).values()).count(tag) > 1:
            raise PlatformFault("This package is being built already; try again later.", code="build_under_way")
        unpacked = folder / f"{UNPACKED}{lock.token}"
        unpacked.mkdir(mode=0o700)
        try:
            yield unpacked
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    finally:
        lock.end()


def leftovers_remove(folder: Path, prefix: str, kept: Collection[str]) -> int:
    """Remove what killed builds have left on this host; return how many images and containers.

    folder: of the builds. prefix: of the names of what is made. kept: tags of packages and seeds, each a
    `package_tag`, whose images stay. Raises BuilderUnavailable.
    """
    with engine() as client:
        with engine_errors():
            images = client.api.images()
            stray = client.api.containers(all=True, filters={"label": f"{CONTAINER_LABEL}={prefix}"})
        # After the lists: a build has its lock before it makes anything.
        alive = notes_alive(folder)
        names = [
            name
            for image in images
            for name in image.get("RepoTags") or ()
            if name.startswith(f"{prefix}-") and not _is_wanted(name.rpartition(":")[2], kept, alive.values())
        ]
        untag(client, names)
        stray = [] if alive else stray
        for each in stray:
            with engine_errors():
                client.api.remove_container(each["Id"], v=True, force=True)
    for path in folder.glob(f"{UNPACKED}*"):
        if path.name.removeprefix(UNPACKED) not in alive:
            shutil.rmtree(path, ignore_errors=True)
    return len(names) + len(stray)


def _is_wanted(tag: str, kept: Collection[str], built: Collection[str]) -> bool:
    package = "-".join(tag.split("-")[:2])
    return package in built or (package in kept and tag.endswith("-seeded"))
