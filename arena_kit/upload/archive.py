"""Checks archives before anything is unpacked, and unpacks them."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO

from arena_kit.machine import files
from arena_kit.machine.processes import WINDOWS
from arena_kit.upload.image_reference import IMAGE_ENTRY_POINT
from arena_kit.upload.kinds import is_archive, is_compiled, is_unreadable, named, notes_left_out
from arena_kit.upload.zip_safety import (
    LIMITS,
    Archive,
    ArchiveLimits,
    ArchiveRefused,
    check_portable,
    check_table,
    content,
    open_zip,
    printable,
    unpacked_size,
)

PLAYER_ENTRY_POINTS = ("player.py", "agent.py", "main.py")
"""The player server loads the first of these that the root of the archive has."""
SCRIPT_ENTRY_POINT = "submission.py"
"""An archive with this file and no other entry point is a script, which plays its environment itself."""
PROGRAMS = (*PLAYER_ENTRY_POINTS, SCRIPT_ENTRY_POINT)
ENTRY_POINTS = (*PROGRAMS, IMAGE_ENTRY_POINT)


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """The content of an accepted archive."""

    entry_point: str
    names: tuple[str, ...]
    """The files without those in `compiled`."""
    unpacked_bytes: int
    compiled: tuple[str, ...] = ()
    """Files of compiled Python, which are left out because they could differ from the source that pages show."""
    left_out: tuple[str, ...] = ()
    """Hidden files and others that are no part of a submission."""

    @property
    def is_script(self) -> bool:
        return self.entry_point == SCRIPT_ENTRY_POINT

    @property
    def is_image(self) -> bool:
        return self.entry_point == IMAGE_ENTRY_POINT

    @property
    def notes(self) -> list[str]:
        """Sentences about its files, for the owner and for people who read the source."""
        notes = notes_left_out(printable(name) for name in self.left_out)
        if self.compiled:
            notes.append(
                f"Compiled Python is left out, because the arena runs only sources: {named(self.compiled)}. "
                "If their .py files are missing from the zip, add them."
            )
        if archives := [name for name in self.names if is_archive(name)]:
            notes.append(
                f"Compiled Python in {named(archives)} is never loaded, because the arena runs only sources. "
                "If their .py files are missing there, add them."
            )
        if unreadable := [name for name in self.names if is_unreadable(name)]:
            notes.append(f"The arena cannot show the source of {named(unreadable)}.")
        return notes


def inspect_contents(file: IO[bytes], limits: ArchiveLimits = LIMITS) -> ArchiveReport:
    """Check an archive by its table of contents alone: names, kinds and claimed sizes. Raises ArchiveRefused.

    Nothing is decompressed, so it takes milliseconds for any archive. `unpacked_bytes` is what the archive claims.
    """
    return _report(open_zip(file, limits), limits)


def inspect_archive(
    file: IO[bytes], limits: ArchiveLimits = LIMITS, *, needs_entry_point: bool = True
) -> ArchiveReport:
    """Check an archive, including the real sizes of its files, without unpacking it. Raises ArchiveRefused.

    file: a seekable binary file. needs_entry_point: False for archives that hold no player.
    """
    archive = open_zip(file, limits)
    # The table of contents comes first, because checking it is quick.
    report = _report(archive, limits, needs_entry_point=needs_entry_point)
    return replace(report, unpacked_bytes=unpacked_size(archive, limits))


def _report(archive: Archive, limits: ArchiveLimits, *, needs_entry_point: bool = True) -> ArchiveReport:
    """Check the table of contents and return what it claims."""
    claimed = check_table(archive, limits)
    files = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    names = tuple(name for name in files if not is_compiled(name))
    entry_point = _entry_point(names) if needs_entry_point else ""
    compiled = tuple(name for name in files if is_compiled(name))
    return ArchiveReport(entry_point, names, claimed, compiled, archive.left_out)


def unpack_archive(
    file: IO[bytes], folder: Path, limits: ArchiveLimits = LIMITS, *, needs_entry_point: bool = True
) -> ArchiveReport:
    """Check an archive, then unpack it into an empty folder, without compiled Python. Raises ArchiveRefused."""
    report = inspect_archive(file, limits, needs_entry_point=needs_entry_point)
    if WINDOWS:
        check_portable(report.names)
    archive = open_zip(file, limits)
    folder.mkdir(parents=True, exist_ok=True)
    for entry in archive.infolist():
        if is_compiled(entry.filename.rstrip("/")):
            continue
        *parents, name = PurePosixPath(entry.filename).parts
        if entry.is_dir():
            _make_folders(folder, [*parents, name])
            continue
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.NO_FOLLOW
        target = os.open(_make_folders(folder, parents) / name, flags, 0o644)
        with os.fdopen(target, "wb") as output:
            # The player runs as another user: the mode must not depend on this process's umask.
            files.mode_set(target, 0o644)
            for data in content(archive, entry, limits):
                output.write(data)
    return report


def read_text(file: IO[bytes], name: str, limits: ArchiveLimits = LIMITS) -> str:
    """Return the text of a small UTF-8 file in the archive. Raises ArchiveRefused."""
    with open_zip(file, limits).open(name) as entry:
        data = entry.read(limits.text_bytes + 1)
    if len(data) > limits.text_bytes:
        raise ArchiveRefused(f"{name} is larger than {limits.text_bytes // 1024} KiB.", code="text_too_large")
    return decoded(data, name)


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 as PowerShell writes it. Raises ArchiveRefused."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if is_utf16 else "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise ArchiveRefused(f"{name} is not UTF-8 text. Save it as UTF-8.", code="not_utf8") from None


def _make_folders(root: Path, parts: list[str]) -> Path:
    folder = root
    for part in parts:
        folder /= part
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o755)
    return folder


def _entry_point(names: tuple[str, ...]) -> str:
    for name in ENTRY_POINTS:
        if name in names:
            return name
    for wanted in PROGRAMS:
        for name in sorted(names, key=lambda path: path.count("/")):
            folder, _, last = name.rpartition("/")
            if last == wanted:
                raise ArchiveRefused(
                    f"{wanted} must be at the root of the zip; it was found in the folder {printable(folder)}. "
                    "Pack the content of the folder, not the folder.",
                    code="entry_point_in_folder",
                )
            if name.lower() == wanted:
                raise ArchiveRefused(f"Rename {name} to {wanted}, in lower case.", code="entry_point_name")
    within = next((name for name in names if name.lower().endswith(".zip")), None) if len(names) == 1 else None
    hint = f" Send {printable(within)}, which is in it, by itself." if within else ""
    raise ArchiveRefused(
        f"The zip has no player.py at its root (agent.py and main.py are accepted too).{hint}", code="no_entry_point"
    )
