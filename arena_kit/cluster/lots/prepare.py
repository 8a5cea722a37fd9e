"""Copies the player server into the channels of a pod, before any player starts.

python -m arena_kit.cluster.lots.prepare FOLDER...
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from arena_kit.sandbox.startup import PLAYER_SERVER, copy_server


def main(folders: Sequence[str]) -> None:
    """Copy the player server into every folder. Raises SandboxError."""
    for folder in folders:
        copy_server(PLAYER_SERVER, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
