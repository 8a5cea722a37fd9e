"""Recorded files as a browser plays them: shown in the page, of a fixed type, in parts where it asks for parts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from core.removed import removed_on
from core.selectors.duels import NotStored, file_get

CHUNK_BYTES = 64 * 1024
TYPES = {".webm": "video/webm", ".webp": "image/webp"}
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})\Z")


def media_type(field: FieldFile) -> str:
    """The type of a recorded file by its stored name; empty for one that is never shown."""
    suffix = PurePosixPath(str(field.name or "")).suffix.lower()
    return TYPES.get(suffix, "")


def media_response(request: HttpRequest, field: FieldFile, what: str) -> HttpResponseBase:
    """A recorded file, whole or the one part that `Range` asks for (RFC 9110, 14): seeking in a video needs it.

    what: begins the sentence when it is not there. Raises NotStored.
    """
    kind = media_type(field)
    if not kind and not removed_on(field.name):
        raise NotStored(f"{what} not there.")
    file = file_get(field, what)
    size = field.storage.size(str(field.name))
    # Stored names are never used again, so a name stands for its content.
    tag = f'"{hashlib.sha256(str(field.name).encode()).hexdigest()[:32]}"'
    asked = request.headers.get("Range", "")
    if request.headers.get("If-Range", tag) != tag:
        asked = ""
    response = _part(file, size, asked, kind) if _RANGE.match(asked) else _whole(file, kind)
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = tag
    response["Cache-Control"] = "private, max-age=86400"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _whole(file: IO[bytes], kind: str) -> HttpResponseBase:
    return FileResponse(file, content_type=kind)


def _part(file: IO[bytes], size: int, asked: str, kind: str) -> HttpResponseBase:
    found = _RANGE.match(asked)
    assert found is not None
    first, last = found[1], found[2]
    if not first and not last:
        return _whole(file, kind)
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    if start >= size or end < start:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    file.seek(start)
    headers = {"Content-Range": f"bytes {start}-{end}/{size}", "Content-Length": str(end - start + 1)}
    return StreamingHttpResponse(_read(file, end - start + 1), status=206, content_type=kind, headers=headers)


def _read(file: IO[bytes], left: int) -> Iterator[bytes]:
    with file:
        while left > 0 and (data := file.read(min(CHUNK_BYTES, left))):
            left -= len(data)
            yield data
