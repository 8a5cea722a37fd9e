"""The secret key of a data folder, for development: every command on the same data signs and reads with it."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

NAME = "secret-key"


def data_key(folder: Path) -> str:
    """Return the key of a folder; write one first if there is none. Raises OSError if neither is possible."""
    path = folder / NAME
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        # Linked in place whole: a command that starts at the same time reads this key or has linked its own.
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{NAME}-") as file:
            file.write(f"{secrets.token_urlsafe(48)}\n")
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, path)
    return path.read_text().strip()
