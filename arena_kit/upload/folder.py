"""Packs the content of a folder into a zip that a site takes; equal files give equal bytes."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from arena_kit.errors import Refused
from arena_kit.upload.kinds import is_compiled, is_left_out, named, notes_left_out
from arena_kit.upload.zip_safety import LIMITS, READ_BYTES, printable
from arena_kit.zips import plain_entry


@dataclass(frozen=True, slots=True)
class Packed:
    """The packed files and those left out, as paths within the folder."""

    names: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        compiled = [name for name in self.left_out if is_compiled(name.rstrip("/"))]
        others = notes_left_out(printable(name) for name in self.left_out if name not in compiled)
        return (*others, *([f"Compiled Python is left out: {named(compiled)}."] if compiled else []))


def pack_folder(folder: Path, target: IO[bytes]) -> Packed:
    """Write the files of a folder into a zip, without what is left out. Raises Refused and OSError.

    A link is packed as the file that it leads to if that is in the folder, too; otherwise it is refused, because a
    folder from elsewhere could name any file of this machine.
    """
    root = folder.resolve()
    if not root.is_dir():
        raise Refused(f"There is no folder {folder}.", code="no_folder")
    names: list[str] = []
    left_out: list[str] = []
    for path in _files(root, left_out):
        name = path.relative_to(root).as_posix()
        if not path.resolve().is_relative_to(root):
            raise Refused(
                f"{printable(name)} is a link that leads out of the folder. Put the file itself there.",
                code="link_outside",
            )
        if not path.is_file():
            raise Refused(f"{printable(name)} is not a file. Only files and folders can be packed.", code="not_a_file")
        names.append(name)
        if len(names) > LIMITS.entry_count:
            raise Refused(
                f"The folder has more than {LIMITS.entry_count} files. Is it the folder of the player?",
                code="too_many_entries",
            )
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as archive:
        for name in sorted(names):
            _add(archive, root / name, name)
    return Packed(tuple(sorted(names)), tuple(left_out))


def _files(root: Path, left_out: list[str]) -> Iterator[Path]:
    """Yield the files of a folder; links to folders are yielded like files."""
    for place, folders, files in os.walk(root):
        here = Path(place)
        kept = []
        for name in sorted(folders):
            path = here / name
            inside = path.relative_to(root).as_posix()
            if is_left_out(f"{inside}/") or is_compiled(name):
                left_out.append(f"{inside}/")
            elif path.is_symlink():
                yield path
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(files):
            inside = (here / name).relative_to(root).as_posix()
            if is_left_out(inside) or is_compiled(name):
                left_out.append(inside)
            else:
                yield here / name


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    size = path.stat().st_size
    if size > LIMITS.file_bytes:
        raise Refused(f"{printable(name)} is larger than {LIMITS.file_bytes // 2**20} MiB.", code="file_too_large")
    try:
        with path.open("rb") as file, archive.open(plain_entry(name), "w") as output:
            while data := file.read(READ_BYTES):
                output.write(data)
    except (UnicodeEncodeError, RuntimeError):
        raise Refused(f"{printable(name)} cannot be packed. Rename or shrink it.", code="bad_name") from None
