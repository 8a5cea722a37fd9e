"""What a submission requires, compared with what is there before anything starts: the command line installs nothing."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena_kit.cli.common import BadArgument
from arena_kit.sandbox.base import FOLDER_PREFIX
from arena_kit.upload.archive import LIMITS, ArchiveRefused, ArchiveReport
from arena_kit.upload.requirements import Requirements, RequirementsRefused, read_requirements, unmet

LIST = (
    "import importlib.metadata, json; "
    "print(json.dumps({d.metadata['Name']: d.version for d in importlib.metadata.distributions()}))"
)
LISTING_SECONDS = 30


def check_requirements(name: str, image: str, *, sandbox: str, base_image: str) -> None:
    """Raise BadArgument where a folder or zip requires what the sandbox does not have, or what the site refuses.

    name: as it was given. image: what the sandbox starts for it. An image of the caller's own is believed.
    """
    if not image.startswith(FOLDER_PREFIX):
        return
    folder = Path(image.removeprefix(FOLDER_PREFIX))
    names = tuple(path.name for path in folder.iterdir() if path.is_file())
    try:
        required = read_requirements(ArchiveReport("player.py", names, 0), lambda file: _text(folder / file))
    except (ArchiveRefused, RequirementsRefused) as refusal:
        raise BadArgument(f"{name}: {refusal}") from None
    if required.lines:
        _check(name, required, sandbox, base_image)


def _check(name: str, required: Requirements, sandbox: str, base_image: str) -> None:
    found, where, how = _installed(sandbox, base_image)
    missing = [
        line if version is None else f"{line} (it has version {version})" for line, version in unmet(required, found)
    ]
    if missing:
        raise BadArgument(f"{name} requires {', '.join(missing)}, and {where} does not have that. {how}")


def _installed(sandbox: str, base_image: str) -> tuple[Mapping[str, str], str, str]:
    """What is installed where players run, what that is called, and what to do where something is missing."""
    if sandbox == "process":
        here = {row.metadata["Name"]: row.version for row in importlib.metadata.distributions()}
        return here, "this Python", "Install it with pip, or play with --sandbox docker and an image that has it."
    how = f"Make an image of {base_image} with it, and name that image with --base-image."
    return _in_image(base_image), f"the image {base_image}", how


def _in_image(image: str) -> Mapping[str, str]:
    """Ask an image in a container without network. Raises BadArgument where it cannot be asked."""
    import requests
    from docker.errors import DockerException

    from arena_kit.image.engine import NoEngine, connect

    options: dict[str, Any] = {
        "entrypoint": ["timeout", str(LISTING_SECONDS), "python3", "-I", "-c", LIST],
        "name": f"arena-cli-list-{uuid.uuid4().hex}",
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "read_only": True,
    }
    container = None
    try:
        container = connect().containers.create(image, **options)
        container.start()
        container.wait(timeout=LISTING_SECONDS * 2)
        found: Mapping[str, str] = json.loads(container.logs(stdout=True, stderr=False))
    except (NoEngine, DockerException, requests.RequestException, ValueError) as error:
        raise BadArgument(f"What the image {image} holds cannot be read: {error}") from None
    finally:
        if container is not None:
            with contextlib.suppress(DockerException, requests.RequestException):
                container.remove(force=True)
    return found


def _text(path: Path) -> str:
    data = path.read_bytes()[: LIMITS.text_bytes + 1]
    if len(data) > LIMITS.text_bytes:
        raise ArchiveRefused(f"{path.name} is larger than {LIMITS.text_bytes // 1024} KiB.", code="text_too_large")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ArchiveRefused(f"{path.name} is not UTF-8 text.", code="not_utf8") from None
