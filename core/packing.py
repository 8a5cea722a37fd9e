"""Single files packed into the archive that they would have been: for forms and clients that send no zip."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from django.core.files.uploadedfile import UploadedFile

from core.archive import READ_BYTES, SCRIPT_ENTRY_POINT
from core.errors import Refused

PLAYER_FILES = ("player.py", "agent.py")
"""A file of such a name holds a player; any other main file is a script."""
SPOOL_BYTES = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack_files(files: Sequence[UploadedFile[bytes]], main_file: str = "") -> UploadedFile[bytes]:
    """A zip of files by their base names; the main file is called submission.py in it where it is a script.

    main_file: name of one of several .py files; not needed beside player.py or with a single one. Equal files give
    equal bytes. Raises Refused, with the field `main_file` or `archive`.
    """
    named = {_base_name(file): file for file in files}
    if len(named) != len(files):
        raise Refused("Two of the files have the same name.", field="archive")
    main = _main_file(list(named), main_file)
    packed = cast(IO[bytes], SpooledTemporaryFile(max_size=SPOOL_BYTES))  # noqa: SIM115  (the request closes it)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in named.items():
            inside = SCRIPT_ENTRY_POINT if name == main and name not in PLAYER_FILES else name
            if inside != name and inside in named:
                raise Refused(f"{name} would be run as {inside}, but there is another {inside}.", field="main_file")
            entry = zipfile.ZipInfo(inside, _EPOCH)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            file.seek(0)
            with archive.open(entry, "w") as output:
                while data := file.read(READ_BYTES):
                    output.write(data)
    size = packed.tell()
    packed.seek(0)
    return UploadedFile(cast(Any, packed), "archive.zip", "application/zip", size)


def _base_name(file: UploadedFile[bytes]) -> str:
    return PurePosixPath((file.name or "").replace("\\", "/")).name


def _main_file(names: list[str], wanted: str) -> str:
    programs = [name for name in names if name.endswith(".py")]
    if not programs:
        raise Refused("At least one Python (.py) file is needed, or a zip.", field="archive")
    if wanted:
        if wanted not in names:
            raise Refused(f"The main file must be one of {', '.join(programs)}.", field="main_file")
        if wanted not in programs:
            raise Refused("The main file must be a Python (.py) file.", field="main_file")
        return wanted
    known = [name for name in (*PLAYER_FILES, SCRIPT_ENTRY_POINT) if name in programs]
    if not known and len(programs) > 1:
        raise Refused(f"Say which of {', '.join(programs)} is the main file.", field="main_file")
    return known[0] if known else programs[0]
