"""What every sandbox starts a player with: its server, its folder, its environment."""

from __future__ import annotations

from pathlib import Path

from duel_runner.sandbox.base import FOLDER_PREFIX, SandboxError

PLAYER_SERVER = Path(__file__).resolve().parents[2] / "builder" / "image" / "player_server"
PLAYER_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # A player has one core: more threads would only wait for each other.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def player_folder(image: str) -> Path | None:
    """The folder that a `folder:PATH` image names, None for an image of an engine. Raises SandboxError."""
    if not image.startswith(FOLDER_PREFIX):
        return None
    folder = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
    if not folder.is_dir():
        raise SandboxError(f"The unpacked player {folder.name} is missing on this host.", code="image_missing")
    return folder
