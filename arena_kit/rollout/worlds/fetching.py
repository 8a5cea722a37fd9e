"""Reads the tar of what a service exports: plain files alone, with names and sizes that are checked."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from arena_kit.image.layer import Pieces
from arena_kit.rollout.exports.state import MOST_BYTES, MOST_FILES, SQLITE_SUFFIXES, ExportRefused

SUFFIXES: Mapping[str, tuple[str, ...]] = {"csv": (".csv",), "sqlite": SQLITE_SUFFIXES, "json": (".json",)}
"""Endings of the files of a format; those of others may have any."""
_NAME = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w .@+-]{1,100}(?:/[\w .@+-]{1,100}){0,9}\Z", re.ASCII)


def files_of(pieces: Iterator[bytes], kind: str, *, most_bytes: int = MOST_BYTES) -> dict[str, bytes]:
    """Return the files of a tar by name: within the folder that is exported, or the name of a single file.

    kind: a format of exports. Raises ExportRefused for anything but files and folders, and for what is too large.
    """
    found: dict[str, bytes] = {}
    left = most_bytes
    try:
        with tarfile.open(fileobj=Pieces(pieces), mode="r|") as tar:
            for entry in tar:
                name = _name(entry)
                if entry.isdir():
                    continue
                left -= entry.size
                if left < 0 or len(found) >= MOST_FILES:
                    sentence = f"The export has more than {most_bytes:,} bytes or {MOST_FILES:,} files."
                    raise ExportRefused(sentence, code="export_too_large")
                found[_checked(name, kind)] = _content(tar, entry)
    except tarfile.TarError:
        raise ExportRefused("What the engine sent of the export is cut off.", code="bad_export") from None
    return found


def _name(entry: tarfile.TarInfo) -> str:
    """Return an entry's name without the exported folder. Raises ExportRefused unless it is a file or a folder."""
    if not (entry.isfile() or entry.isdir()):
        sentence = f"The export holds {entry.name[:100]!r}, which is not a plain file."
        raise ExportRefused(sentence, code="bad_export")
    top, _, rest = entry.name.strip("/").partition("/")
    return rest or top


def _checked(name: str, kind: str) -> str:
    if not _NAME.match(name):
        sentence = f"The export has a file called {name[:100]!r}; use letters, digits, dashes, dots and spaces."
        raise ExportRefused(sentence, code="bad_export")
    suffixes = SUFFIXES.get(kind)
    if suffixes and PurePosixPath(name).suffix.lower() not in suffixes:
        sentence = f"The export's file {name} should end with {' or '.join(suffixes)}, as its format is {kind}."
        raise ExportRefused(sentence, code="bad_export")
    return name


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(entry)
    content = b"" if file is None else file.read()
    if len(content) != entry.size:
        raise ExportRefused("What the engine sent of the export is cut off.", code="bad_export")
    return content
