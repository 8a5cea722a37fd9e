"""The fonts of pictures for links, and which letters they have: a letter without one would be drawn as a box."""

from __future__ import annotations

import contextlib
import os
import struct
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

FONTS = tuple(Path(f"/usr/share/fonts/truetype/dejavu/DejaVuSans{kind}.ttf") for kind in ("", "-Bold", "Mono"))
"""The fonts of every picture: Latin, Greek, Cyrillic, Arabic, Hebrew, Armenian and Georgian, and many signs."""
FOLDERS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"))
"""Where fonts of other scripts are looked for; the packages fonts-noto-cjk and fonts-noto-core have most of them."""
MOST_FILES = 5000
MOST_FALLBACKS = 4
MOST_RANGES = 20_000
Letters = tuple[range, ...]


def fonts_for(text: str) -> tuple[Path, ...]:
    """Return the font files for a text: those of every picture, and installed ones with the letters that these lack."""
    found = list(_present())
    missing = {letter for letter in text if not _is_in(letter, found)}
    for letter in sorted(missing):
        if len(found) < len(_present()) + MOST_FALLBACKS and not _is_in(letter, found):
            found += _fallback(letter)
    return tuple(found)


def drawable(text: str, instead: str) -> str:
    """Return a text without signs that no font here has, or `instead` if letters or digits of it would be missing."""
    if not _present():
        return text  # The fonts of this machine are not known, and resvg looks for some itself.
    fonts = fonts_for(text)
    lost = [letter for letter in text if not _is_in(letter, fonts)]
    if any(unicodedata.category(letter)[0] in "LN" for letter in lost):
        return instead
    return " ".join("".join(letter for letter in text if letter not in lost).split()) or instead


def _present() -> tuple[Path, ...]:
    return tuple(path for path in FONTS if path.is_file())


def _is_in(letter: str, fonts: tuple[Path, ...] | list[Path]) -> bool:
    if letter.isspace() or unicodedata.category(letter) in ("Mn", "Cf"):
        return True  # It is drawn with the letter before it, or not at all.
    return any(ord(letter) in letters for font in fonts for letters in letters_of(font))


@cache
def _fallback(letter: str) -> list[Path]:
    """Return the first installed font with a letter, if any."""
    for path in _installed():
        if _is_in(letter, (path,)):
            return [path]
    return []


@cache
def _installed() -> tuple[Path, ...]:
    """Return the installed font files, plain ones first."""
    found: list[Path] = []
    for folder in FOLDERS:
        for top, _, names in os.walk(folder):
            found += [Path(top) / name for name in names if name.lower().endswith((".ttf", ".otf", ".ttc"))]
    return tuple(sorted(found, key=lambda path: ("Regular" not in path.name, path.name, str(path)))[:MOST_FILES])


@cache
def letters_of(font: Path) -> Letters:
    """Return the numbers of the letters that a font file has (the first font of a collection); () if it is damaged."""
    with contextlib.suppress(OSError, struct.error, ValueError), font.open("rb") as file:
        return tuple(_ranges(file))
    return ()


def _ranges(file: BinaryIO) -> Iterator[range]:
    """Yield the ranges of letters in the table `cmap`, formats 4 and 12. Raises struct.error."""
    start = _read(file, 0, ">4sIII")[3] if _read(file, 0, ">4s")[0] == b"ttcf" else 0
    tables = (_read(file, start + 12 + 16 * number, ">4sIII") for number in range(_read(file, start + 4, ">H")[0]))
    cmap = next((offset for tag, _, offset, _ in tables if tag == b"cmap"), None)
    if cmap is None:
        return
    subtables = [_read(file, cmap + 4 + 8 * number, ">HHI") for number in range(_read(file, cmap + 2, ">H")[0])]
    # Encodings of Unicode: any of platform 0, and those of Windows for the first plane and for all.
    places = {offset for *encoding, offset in subtables if encoding[0] == 0 or encoding in ([3, 1], [3, 10])}
    for place in sorted(cmap + offset for offset in places):
        kind = _read(file, place, ">H")[0]
        if kind == 12:
            count = min(_read(file, place + 12, ">I")[0], MOST_RANGES)
            values = _read(file, place + 16, f">{3 * count}I")
            yield from (range(first, last + 1) for first, last in zip(values[::3], values[1::3], strict=True))
        elif kind == 4:
            count = _read(file, place + 6, ">H")[0] // 2
            ends = _read(file, place + 14, f">{count}H")
            starts = _read(file, place + 16 + 2 * count, f">{count}H")
            yield from (range(first, min(last, 0xFFFE) + 1) for first, last in zip(starts, ends, strict=True))


def _read(file: BinaryIO, place: int, form: str) -> tuple[Any, ...]:
    file.seek(place)
    return struct.unpack(form, file.read(struct.calcsize(form)))
