"""What every sandbox starts a player with: the player server, environment variables, a user and the player's folder."""

from __future__ import annotations

import zlib
from pathlib import Path

from arena_kit.sandbox.base import FOLDER_PREFIX, SandboxError

PLAYER_SERVER = Path(__file__).with_name("inside") / "player_server"
PLAYER_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # A player has one core, on which more threads would only wait for each other.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
FIRST_PLAYER_UID, PLAYER_UID_COUNT = 60706, 478
"""The range of players' user ids: no distribution gives out 60706 to 61183, and 65534 is avoided because file systems
may reserve blocks for it."""


def player_uid(name: str) -> int:
    """Return the user id of a submission that is launched under `name`.

    The kernel counts some resources per user, even across containers, so players that run at the same time should have
    different ones.
    """
    return FIRST_PLAYER_UID + zlib.crc32(name.encode()) % PLAYER_UID_COUNT


def player_folder(image: str) -> Path | None:
    """Return the folder that a `folder:PATH` image names, or None for an engine's image. Raises SandboxError."""
    if not image.startswith(FOLDER_PREFIX):
        return None
    folder = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
    if not folder.is_dir():
        raise SandboxError(f"The unpacked player {folder.name} is missing on this host.", code="image_missing")
    return folder
