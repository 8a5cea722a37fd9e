"""What every sandbox starts a player with: its server, its folder, its environment."""

from __future__ import annotations

import zlib
from pathlib import Path

from arena_kit.sandbox.base import FOLDER_PREFIX, SandboxError

PLAYER_SERVER = Path(__file__).with_name("inside") / "player_server"
PLAYER_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # A player has one core: more threads would only wait for each other.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
FIRST_PLAYER_UID, PLAYER_UID_COUNT = 60706, 478
"""Outside every passwd (no distribution gives out 60706 to 61183) and not 65534, for which file systems may keep blocks
in reserve."""


def player_uid(name: str) -> int:
    """The user of a submission that is launched under `name`.

    The kernel counts some resources by user, across containers too, so those that run at once should not share one.
    """
    return FIRST_PLAYER_UID + zlib.crc32(name.encode()) % PLAYER_UID_COUNT


def player_folder(image: str) -> Path | None:
    """The folder that a `folder:PATH` image names, None for an image of an engine. Raises SandboxError."""
    if not image.startswith(FOLDER_PREFIX):
        return None
    folder = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
    if not folder.is_dir():
        raise SandboxError(f"The unpacked player {folder.name} is missing on this host.", code="image_missing")
    return folder
