"""The pictures and styles in the `static/` of a folder: which of its files a site may show."""

from __future__ import annotations

import re
from pathlib import Path

TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".css": "text/css; charset=utf-8",
}
"""The types of files that are shown, by suffix in lower case."""
MOST_BYTES = 2 << 20
_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


class NotShown(Exception):
    """A site does not show this file; the message has the reason."""


def static_file(folder: Path, name: str) -> Path:
    """Return the path of a file in the `static/` of a folder. Raises NotShown."""
    path = folder / "static" / name
    if not _NAME.fullmatch(name):
        raise NotShown(f"{name!r} is not the name of a picture or a style sheet")
    if path.suffix.lower() not in TYPES:
        raise NotShown(f"{name} has another type than {', '.join(TYPES)}")
    if path.is_symlink() or path.parent.is_symlink():
        raise NotShown(f"static/{name} is a symbolic link")
    if not path.is_file():
        raise NotShown(f"static/{name} does not exist")
    if path.stat().st_size > MOST_BYTES:
        raise NotShown(f"static/{name} is larger than {MOST_BYTES >> 20} MB")
    return path


def picture_note(folder: Path, image: str) -> str:
    """Return a sentence when the card picture cannot be shown; "" when it can."""
    try:
        static_file(folder, image)
    except (NotShown, OSError) as error:
        return f"image: {error}; a neutral picture is shown."
    return "" if not image.lower().endswith(".css") else "image: a style sheet is not a picture."


def style_sheets(folder: Path) -> list[str]:
    """Return the names of the style sheets that are shown, in order."""
    found = []
    for path in sorted((folder / "static").glob("*.css")):
        try:
            found.append(static_file(folder, path.name).name)
        except (NotShown, OSError):
            continue
    return found
