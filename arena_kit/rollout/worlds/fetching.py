"""Reads the tar of what a service exports: plain files alone, with names and sizes that are checked."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Self

from arena_kit.image.layer import Pieces
from arena_kit.rollout.exports.state import MOST_BYTES, MOST_FILES, SQLITE_SUFFIXES, ExportRefused

SUFFIXES: Mapping[str, tuple[str, ...]] = {"csv": (".csv",), "sqlite": SQLITE_SUFFIXES, "json": (".json",)}
"""Endings of the files of a format; those of others may have any."""
HEADER_BYTES = 64 << 10
"""The most bytes that describe an entry of a tar, such as its long name; they are read whole."""
OVERHEAD_BYTES = 32 << 20
"""The allowance for headers and padding of a tar; more than the largest valid export needs."""
_HEADERS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_NAME = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w .@+-]{1,100}(?:/[\w .@+-]{1,100}){0,9}\Z", re.ASCII)


def files_of(pieces: Iterator[bytes], kind: str, *, most_bytes: int = MOST_BYTES) -> dict[str, bytes]:
    """Return the files of a tar by name: within the folder that is exported, or the name of a single file.

    kind: a format of exports. Raises ExportRefused for anything but files and folders, and for what is too large.

    In a pod the tar is written by a program of the service, so every byte of it may be hostile.
    """
    found: dict[str, bytes] = {}
    left = most_bytes
    try:
        bounded = _bounded(pieces, most_bytes)
        with tarfile.open(fileobj=Pieces(bounded), mode="r|", tarinfo=_Entry) as tar:
            for count, entry in enumerate(tar):
                name = _name(entry)
                if count >= 2 * MOST_FILES:
                    raise _too_large(most_bytes)
                if entry.isdir():
                    continue
                left -= entry.size
                if left < 0 or len(found) >= MOST_FILES:
                    raise _too_large(most_bytes)
                found[_checked(name, kind)] = _content(tar, entry)
    # Besides its own errors, what Python's reader raises for headers that no program writes by accident.
    except (tarfile.TarError, ValueError, LookupError, ArithmeticError, RecursionError):
        raise ExportRefused("The tar of the export is cut off or damaged.", code="bad_export") from None
    return found


class _Entry(tarfile.TarInfo):
    """An entry whose headers are small. Python's own reader would read any that is announced, as large as it is."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _HEADERS and found.size > HEADER_BYTES:
            raise ExportRefused("The tar of the export has a header that is too large.", code="bad_export")
        return found


def _bounded(pieces: Iterator[bytes], most_bytes: int) -> Iterator[bytes]:
    left = most_bytes + OVERHEAD_BYTES
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise _too_large(most_bytes)
        yield piece


def _too_large(most_bytes: int) -> ExportRefused:
    return ExportRefused(
        f"The export has more than {most_bytes:,} bytes or {MOST_FILES:,} files.", code="export_too_large"
    )


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
        raise ExportRefused("The tar of the export is cut off or damaged.", code="bad_export")
    return content
