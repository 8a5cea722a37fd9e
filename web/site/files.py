"""Downloads: every file is an attachment with a fixed content type, so that no browser renders it."""

from __future__ import annotations

from typing import IO

from django.http import FileResponse, HttpResponse

TEXT, ZIP, GZIP, JSON = "text/plain; charset=utf-8", "application/zip", "application/gzip", "application/json"


def attachment(file: IO[bytes], name: str, kind: str) -> FileResponse:
    """Return a file as a download. The response closes the file."""
    return FileResponse(file, as_attachment=True, filename=name, content_type=kind)


def text(content: str, name: str) -> HttpResponse:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=TEXT, headers=disposition)
