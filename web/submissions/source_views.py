"""The source of a version, read in the browser by people who may see it."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from arena_kit.environment.record_archive import UNREADABLE
from core.duels.selectors import NotStored, file_get
from core.models import Submission
from web.duels.downloads import get_submission
from web.site.refusals import explained

MOST_FILES = 500
MOST_BYTES = 200_000
"""How much of a file is shown."""
FIRST_SHOWN = ("player.py", "agent.py", "main.py", "submission.py")


@dataclass(frozen=True, slots=True)
class SourceFile:
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Source:
    """The files of an archive and the text of one of them. text: None if it is not a text."""

    files: tuple[SourceFile, ...]
    chosen: str
    text: str | None
    is_cut: bool


@explained
def source(request: HttpRequest, submission_id: int) -> HttpResponseBase:
    """Show the files of a version, and the text of the one that `?file=` names."""
    row = get_submission(request, submission_id)
    shown = _read(row, request.GET.get("file", ""))
    context = {"submission": row, "agent": row.agent, "environment": row.agent.environment, "source": shown}
    response: HttpResponse = render(request, "web/submissions/source.html", context)
    return response


def _read(row: Submission, wanted: str) -> Source:
    """Read an archive. Raises NotStored, and Http404 for a file that it does not hold."""
    if row.deleted_at is not None:
        raise NotStored("This version has been deleted by its owner.")
    try:
        with file_get(row.archive, "This archive is") as file, zipfile.ZipFile(file) as archive:
            members = {one.filename: one for one in archive.infolist()[:MOST_FILES] if not one.is_dir()}
            chosen = wanted or next((name for name in FIRST_SHOWN if name in members), next(iter(members), ""))
            if wanted and wanted not in members:
                raise Http404("This version has no such file.")
            content = b""
            if chosen:
                with archive.open(members[chosen]) as member:
                    content = member.read(MOST_BYTES + 1)
    except UNREADABLE:
        raise NotStored("The files of this version cannot be shown here. Download the archive instead.") from None
    files = tuple(SourceFile(name, one.file_size) for name, one in sorted(members.items()))
    return Source(files, chosen, _as_text(content[:MOST_BYTES]), len(content) > MOST_BYTES)


def _as_text(content: bytes) -> str | None:
    """Return UTF-8 text; a character that the limit has cut at the end is left out."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        return content[: error.start].decode() if error.start > len(content) - 4 and error.start else None
