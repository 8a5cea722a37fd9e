"""The published files of an archive: small ones unchanged, large ones replaced by a note."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO

from arena_kit.upload.archive import unpack_archive
from arena_kit.upload.zip_safety import ArchiveRefused

FILE_BYTES = 1024 * 1024
TOTAL_BYTES = 50 * 1024 * 1024


class SourceRefused(Exception):
    """The archive cannot be published; the message has the reason. code: the typed reason."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """Unpacked files, ready to be published."""

    folder: Path
    paths: tuple[str, ...]
    """Paths relative to `folder`, with / as the separator."""
    entry_point: str
    notes: tuple[str, ...]
    """Sentences about files that are left out or replaced."""


def unpack_source(archive: IO[bytes], folder: Path) -> PublishedSource:
    """Unpack an archive into an empty folder and prepare it for a repository. Raises SourceRefused.

    Hidden files are in no unpacked archive, so none gives instructions to git.
    """
    try:
        report = unpack_archive(archive, folder)
    except ArchiveRefused as refusal:
        raise SourceRefused(str(refusal), code=refusal.code) from None
    paths, notes, total = [], report.notes, 0
    for name in sorted(report.names):
        if any(is_git_folder(part) for part in name.split("/")):
            raise SourceRefused(f"{name[:100]} belongs to a git repository of its own.", code="git_folder")
        file = folder / name
        size = file.stat().st_size
        if size > FILE_BYTES:
            note = f"This file has {size} bytes. Files above {FILE_BYTES // 2**20} MiB are not published.\n"
            file.write_text(note)
            notes.append(f"{name} has {size} bytes: a note stands in its place.")
            size = len(note)
        total += size
        if total > TOTAL_BYTES:
            raise SourceRefused(f"The files have more than {TOTAL_BYTES // 2**20} MiB together.", code="too_large")
        paths.append(name)
    return PublishedSource(folder, tuple(paths), report.entry_point, tuple(notes))


def is_git_folder(part: str) -> bool:
    """Return whether any file system takes this name for `.git` (letter case, short names, streams, trailing dots)."""
    return part.casefold().split(":")[0].rstrip(" .") in {".git", "git~1"}
