"""Archives for the builder's tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

PLAYER = "class Player: ...\n"


def archive(files: Mapping[str, str] | None = None) -> io.BytesIO:
    """A zip with a player.py and these files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in {"player.py": PLAYER, **(files or {})}.items():
            packed.writestr(name, text)
    return file
