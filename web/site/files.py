"""Downloads, attachments with a fixed content type that no browser renders, and logs, which open in a page."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import IO

from django.http import FileResponse, HttpRequest, HttpResponseBase
from django.shortcuts import render

from arena_kit.referee.tracebacks import without_folders
from arena_kit.text import plain_text

TEXT, ZIP, GZIP, JSON = "text/plain; charset=utf-8", "application/zip", "application/gzip", "application/json"
MOST_CHARACTERS = 200_000
"""A page shows this much of the end of a log."""


def attachment(file: IO[bytes], name: str, kind: str) -> FileResponse:
    """Return a file as a download. The response closes the file."""
    return FileResponse(file, as_attachment=True, filename=name, content_type=kind)


def log_page(
    request: HttpRequest, log: str | IO[bytes], name: str, title: str, crumbs: Sequence[tuple[str, str]]
) -> HttpResponseBase:
    """Show a log in a page, or send it as the file `name` where the address has `?download`.

    crumbs: (address, name) of the pages above it. The file is closed.
    """
    if "download" in request.GET:
        return attachment(BytesIO(log.encode()) if isinstance(log, str) else log, name, TEXT)
    if not isinstance(log, str):
        with log as file:
            log = file.read().decode("utf-8", "replace")
    shown, is_cut = without_folders(plain_text(log))[-MOST_CHARACTERS:], len(log) > MOST_CHARACTERS
    context = {"log": shown, "is_cut": is_cut, "title": title, "crumbs": crumbs}
    return render(request, "web/site/log.html", context)
