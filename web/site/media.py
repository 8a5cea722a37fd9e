"""Answers with recorded files as browsers play them: inline, with a fixed type, in ranges if requested."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from core.duels.selectors import NotStored, file_get
from core.files.removed import removed_on

CHUNK_BYTES = 64 * 1024
TYPES = {".webm": "video/webm", ".webp": "image/webp"}
_RANGE = re.compile(r"bytes=(?!-\Z)(\d{0,18})-(\d{0,18})\Z")


def media_type(field: FieldFile) -> str:
    """Return the type of a recorded file by its stored name; empty for other files, which pages never show."""
    suffix = PurePosixPath(str(field.name or "")).suffix.lower()
    return TYPES.get(suffix, "")


def media_response(request: HttpRequest, field: FieldFile, what: str) -> HttpResponseBase:
    """Send a recorded file, whole or the one range that `Range` asks for (RFC 9110, 14), which seeking needs.

    what: start of the sentence if the file is missing. Raises NotStored.
    """
    kind = media_type(field)
    if not kind and not removed_on(field.name):
        raise NotStored(f"{what} not there.")
    file = file_get(field, what)
    # Stored names are never reused, so a name identifies its content.
    tag = f'"{hashlib.sha256(str(field.name).encode()).hexdigest()[:32]}"'
    asked = _RANGE.match(request.headers.get("Range", ""))
    # HTTP defines ranges for GET alone, and a range of another version of the file is useless.
    if request.method != "GET" or request.headers.get("If-Range", tag) != tag:
        asked = None
    response: HttpResponseBase
    if asked is None:
        response = FileResponse(file, content_type=kind)
    else:
        response = _part(file, field.storage.size(str(field.name)), asked[1], asked[2], kind)
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = tag
    response["Cache-Control"] = "private, max-age=86400"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _part(file: IO[bytes], size: int, first: str, last: str, kind: str) -> HttpResponseBase:
    """Send the bytes from first to last; without `first`, the last `last` bytes."""
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    if start >= size or end < start:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    file.seek(start)
    headers = {"Content-Range": f"bytes {start}-{end}/{size}", "Content-Length": str(end - start + 1)}
    return StreamingHttpResponse(_Part(file, end - start + 1), status=206, content_type=kind, headers=headers)


@dataclass(frozen=True, slots=True)
class _Part:
    """An iterator over the next `count` bytes of a file. The response closes it, even if it was never read."""

    file: IO[bytes]
    count: int

    def __iter__(self) -> Iterator[bytes]:
        left = self.count
        while left > 0 and (data := self.file.read(min(CHUNK_BYTES, left))):
            left -= len(data)
            yield data

    def close(self) -> None:
        self.file.close()
