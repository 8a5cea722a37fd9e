"""Turns the archive of a submission into something that can be played, in steps that are logged.

With an engine, the result is an image (`docker_recipe`); without one an unpacked folder (`folder_recipe`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from arena_kit.image.errors import BuildFailed
from arena_kit.image.leftovers import Needed
from arena_kit.upload.archive import read_text, unpack_archive
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.findings import THIS_PYTHON
from arena_kit.upload.pythons import ChosenPython, Version, choose_python, read_wanted_python
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements
from arena_kit.upload.zip_safety import ArchiveRefused

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The result of a build.

    image: its name for people, or `folder:PATH`. warnings: sentences for the owner. digest: the image's content id,
    which sandboxes launch. base_image: name of the base image and its Python, for people. base_digest,
    requirements_digest: content ids of the images below it; the second is empty when nothing is required. sbom: its
    bill of materials. For a folder the last five are empty.
    """

    image: str
    warnings: tuple[str, ...]
    digest: str = ""
    base_image: str = ""
    base_digest: str = ""
    requirements_digest: str = ""
    sbom: bytes = b""


class Recipe(Protocol):
    """Turns archives into images, and removes them."""

    def build(
        self, archive: IO[bytes], *, name: str, labels: dict[str, str], log: Log, defaults: tuple[str, ...] = ()
    ) -> BuildResult:
        """Build an archive.

        defaults: requirement lines for an archive that has none. Raises BuildFailed when the owner must act, and
        BuilderUnavailable when the platform must.
        """

    def remove(self, image: str) -> None:
        """Remove an image, if it still exists."""

    def push(self, image: str, *, still_wanted: Callable[[], None]) -> str:
        """Put a built image where other hosts get it and return its digest there; "" where there is no registry.

        still_wanted: called often; what it raises ends the push. Raises BuilderUnavailable.
        """

    def missing(self, launched: Mapping[str, str]) -> set[str]:
        """Return the images that exist neither here nor in the registry, of those that sandboxes would launch.

        launched: the digest in the registry ("" for none) by image. Raises BuilderUnavailable.
        """

    def lost(self, pushed: Mapping[str, str], *, most: int) -> set[str]:
        """Return the images that the registry has no more, at most so many, of those that were pushed.

        pushed: digests in the registry by the names that builds gave to the images. Raises BuilderUnavailable.
        """

    def sweep(self, needed: Callable[[], Needed]) -> None:
        """Remove images that are not needed any more. needed: called after the images are listed."""


def unpack(
    archive: IO[bytes],
    folder: Path,
    defaults: tuple[str, ...],
    log: Log,
    pythons: Sequence[Version] = THIS_PYTHON,
) -> tuple[ChosenPython, Requirements, list[str]]:
    """Unpack an archive; return its Python, its requirements, or `defaults` where it has none, and notes for the owner.

    The notes, on files that are left out or cannot be shown, are logged, too. pythons: the versions to choose from,
    the default first. Raises BuildFailed.
    """
    try:
        report = unpack_archive(archive, folder)
        python = choose_python(read_wanted_python(report, lambda name: read_text(archive, name)), pythons)
        # The site skips this check when it is busy with other uploads. It cannot judge what is for a newer Python.
        if python.version <= THIS_PYTHON[0]:
            check_python_compiles(archive)
        notes = [*report.notes, *([python.note] if python.note else [])]
        for note in notes:
            log(f"Note: {note}")
        requirements = read_requirements(report, lambda name: read_text(archive, name))
        requirements = requirements if requirements.lines else dataclasses.replace(requirements, lines=defaults)
        return python, requirements, notes
    except (ArchiveRefused, RequirementsRefused) as refusal:
        raise BuildFailed(str(refusal), code=refusal.code) from None
