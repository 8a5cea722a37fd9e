"""Makes zips whose bytes depend on their files alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip can hold; every entry gets it, so that equal files give equal archives."""
FILE_MODE = 0o100644


def plain_entry(name: str) -> zipfile.ZipInfo:
    """Return an entry with a fixed time and mode."""
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.create_system = 3  # Unix, so that every machine packs the same bytes
    entry.external_attr = FILE_MODE << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def zip_bytes(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of (name, content) pairs, sorted by name, with fixed times and modes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(files):
            archive.writestr(plain_entry(name), content, zipfile.ZIP_DEFLATED, compresslevel=9)
    return buffer.getvalue()
