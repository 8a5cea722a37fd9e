"""Folders of uploaded environments on this machine: unpacked to be read, and put in their place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

from django.conf import settings

from arena_kit.environment.outside.copies import EARLIER
from arena_kit.environment.registry import all_specs, forget, left_out
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.upload.environment_folder import folder_unpacked
from arena_kit.upload.zip_safety import ArchiveRefused
from core.errors import Refused
from core.models import EnvironmentTrial

MARK = ".uploaded"
"""The file in a folder that holds the SHA-256 of the zip that it was unpacked from."""


def live_spec(slug: str) -> EnvironmentSpec | None:
    """Return the spec in an organiser's folder on this machine; None without one."""
    return next((spec for spec in all_specs() if spec.slug == slug and spec.is_outside), None)


def place_of(slug: str) -> Path:
    """Return the folder of an environment: the one that it has, whatever its name, or one of its slug."""
    live = live_spec(slug)
    return live.file.parent if live is not None else settings.ENVIRONMENTS_DIR.absolute() / slug


def place_check(slug: str) -> None:
    """Raise Refused where the place of an environment holds something else, which would be lost."""
    place = place_of(slug)
    held = {one.file.parent: one.slug for one in all_specs()} | {one.path.parent: one.slug for one in left_out()}
    if place.name == EARLIER or (place.exists() and held.get(place) != slug):
        raise Refused(f"The folder {place.name} of the site’s environments holds something else. Rename it first.")


@contextmanager
def trial_content(trial: EnvironmentTrial) -> Iterator[tuple[Path, EnvironmentSpec]]:
    """Unpack the very zip that was tried; yield its folder and its spec. Raises Refused."""
    try:
        with trial.archive.open("rb") as archive:
            file = cast(BinaryIO, archive.file)
            if sha256(file.read()).hexdigest() != trial.archive_sha256:
                raise Refused("The zip in the store is not the one that was tried.")
            file.seek(0)
            with folder_unpacked(file) as (folder, spec):
                (folder / MARK).write_text(trial.archive_sha256, encoding="ascii")
                yield folder, spec
    except FileNotFoundError:
        raise Refused("The zip is missing from the store.") from None
    except ArchiveRefused as refusal:
        raise Refused(str(refusal)) from None


@contextmanager
def folder_placed(folder: Path, place: Path) -> Iterator[Path]:
    """Put a folder in its place while the block runs, and for good if it ends well; otherwise the old one comes back.

    The registry is read anew in both cases. Raises Refused where the folder cannot be written.
    """
    # There no environments are looked for, and it is the same disk.
    aside = settings.ENVIRONMENTS_DIR.absolute() / EARLIER
    part, old = (aside / f".{name}-{place.name}" for name in ("arriving", "replaced"))
    try:
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
        shutil.copytree(folder, part)
        if place.exists():
            place.rename(old)
        part.rename(place)
    except OSError as error:
        if old.exists() and not place.exists():
            old.rename(place)
        shutil.rmtree(part, ignore_errors=True)
        # Copying a folder gathers the errors of its files.
        because = error.strerror or (error.args[0][0][2] if isinstance(error, shutil.Error) else error)
        raise Refused(f"The site cannot write to its folder of environments: {because}.") from None
    try:
        forget()
        yield place
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        if old.exists():
            old.rename(place)
        forget()
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
