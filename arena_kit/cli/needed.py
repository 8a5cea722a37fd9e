"""The requirements of a submission, and those that are missing where players run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arena_kit.cli.common import BadArgument, NotInstalled
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.local import installed_here
from arena_kit.sandbox.base import FOLDER_PREFIX
from arena_kit.upload.archive import ArchiveReport, decoded
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements, unmet
from arena_kit.upload.zip_safety import LIMITS, ArchiveRefused

PREFIX = "arena-kit"
"""The prefix of the command line's images and containers: sites that share the engine have prefixes of their own."""


def requirements_of(name: str, image: str) -> Requirements:
    """Return the requirements of a folder or an unpacked zip, and none for an image, which has all that it needs.

    name: what the user calls the submission. image: what the sandbox starts. Raises BadArgument for requirements that
    the site refuses.
    """
    if not image.startswith(FOLDER_PREFIX):
        return Requirements(())
    folder = Path(image.removeprefix(FOLDER_PREFIX))
    names = tuple(path.name for path in folder.iterdir() if path.is_file())
    try:
        return read_requirements(ArchiveReport("player.py", names, 0), lambda file: _text(folder / file))
    except (ArchiveRefused, RequirementsRefused) as refusal:
        raise BadArgument(f"{name}: {refusal}") from None


def check_installed(name: str, required: Requirements, *, sandbox: str, base_image: str) -> None:
    """Raise NotInstalled if players would miss any of the requirements."""
    if not required.lines:
        return
    if sandbox != "docker":
        found: Mapping[str, str] = installed_here()
        where = "this Python"
        how = "Leave out --no-install, or install it with pip."
    else:
        found, where = _in_image(base_image), f"the image {base_image}"
        how = "Leave out --no-install, or name an image that has it with --base-image."
    missing = [
        line if version is None else f"{line} (it has version {version})" for line, version in unmet(required, found)
    ]
    if missing:
        raise NotInstalled(f"{name} requires {', '.join(missing)}, and {where} does not have that. {how}")


def _in_image(image: str) -> Mapping[str, str]:
    """Return the versions of the Python packages in an image. Raises BadArgument if the image cannot be read."""
    # Late: Docker's client and the reading of zips take long to load.
    from arena_kit.image.calls import base_image_id, engine
    from arena_kit.image.inventory import inventory

    try:
        with engine() as client:
            return inventory(client, base_image_id(client, image), PREFIX).python
    except BuilderUnavailable as error:
        raise BadArgument(f"The packages of the image {image} cannot be read: {error}") from None


def _text(path: Path) -> str:
    data = path.read_bytes()[: LIMITS.text_bytes + 1]
    if len(data) > LIMITS.text_bytes:
        raise ArchiveRefused(f"{path.name} is larger than {LIMITS.text_bytes // 1024} KiB.", code="text_too_large")
    return decoded(data, path.name)
