"""Packs an archive anew without decompressing it, so that what is stored and shown holds nothing that is left out."""

from __future__ import annotations

import struct
import zipfile
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from arena_kit.upload.zip_safety import (
    LIMITS,
    READ_BYTES,
    ArchiveLimits,
    ArchiveRefused,
    check_table,
    is_utf8,
    open_zip,
    printable,
)

SPOOL_BYTES = 1 << 20
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION, _UTF8_FLAG, _EARLIEST_DAY = 20, 0x800, 0x21
_FILE, _FOLDER = 0o100644 << 16, 0o040755 << 16 | 0x10


def archive_plain(file: IO[bytes], limits: ArchiveLimits = LIMITS) -> IO[bytes] | None:
    """Return an archive without what is left out, under plain names; None if it is so already. Raises ArchiveRefused.

    Equal archives give equal bytes. The packed bytes are copied as they are, so it takes no longer than a copy.
    """
    archive = open_zip(file, limits)
    check_table(archive, limits)
    entries = archive.infolist()
    if not archive.left_out and all(is_utf8(entry) and entry.filename == entry.orig_filename for entry in entries):
        return None
    made = cast(IO[bytes], SpooledTemporaryFile(max_size=SPOOL_BYTES))  # noqa: SIM115  (the caller closes it)
    table = bytearray()
    for entry in entries:
        name, place = entry.filename.encode(), made.tell()
        fields = (
            *(_VERSION, _UTF8_FLAG, entry.compress_type, 0, _EARLIEST_DAY),
            *(entry.CRC, entry.compress_size, entry.file_size, len(name), 0),
        )
        made.write(_LOCAL.pack(b"PK\x03\x04", *fields) + name)
        _copy(file, entry, made)
        mode = _FOLDER if entry.is_dir() else _FILE
        table += _CENTRAL.pack(b"PK\x01\x02", 3 << 8 | _VERSION, *fields, 0, 0, 0, mode, place) + name
    start = made.tell()
    made.write(table)
    made.write(_END.pack(b"PK\x05\x06", 0, 0, len(entries), len(entries), len(table), start, 0))
    made.seek(0)
    return made


def _copy(file: IO[bytes], entry: zipfile.ZipInfo, target: IO[bytes]) -> None:
    """Copy the packed bytes of an entry."""
    file.seek(entry.header_offset)
    head = file.read(_LOCAL.size)
    if len(head) == _LOCAL.size and head.startswith(b"PK\x03\x04"):
        *_, name_bytes, extra_bytes = _LOCAL.unpack(head)
        file.seek(name_bytes + extra_bytes, 1)
        left = entry.compress_size
        while left and (data := file.read(min(READ_BYTES, left))):
            target.write(data)
            left -= len(data)
        if not left:
            return
    raise ArchiveRefused(f"{printable(entry.filename)} in the zip is damaged. Pack it again.", code="damaged_zip")
