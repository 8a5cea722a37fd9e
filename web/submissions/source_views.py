"""The source of a version, and how it differs from another version, read in the browser by people who may see it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from arena_kit.environment.record_archive import UNREADABLE
from arena_kit.upload.zip_safety import LIMITS, ArchiveRefused, open_zip
from core.duels.selectors import NotStored, file_get
from core.models import Submission
from web.site.refusals import explained
from web.submissions.changes import Line, changes
from web.submissions.download_views import get_submission

MOST_FILES = 500
MOST_BYTES = 200_000
"""How much of a file is shown."""
FIRST_SHOWN = ("player.py", "agent.py", "main.py", "submission.py")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a version. change: added, removed or changed since the version that it is compared with, or empty."""

    name: str
    size_bytes: int
    change: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The files of an archive and the text of one of them. text: None if it is not a text.

    lines: the changes of the text, if another version is compared; None if they cannot be shown.
    """

    files: tuple[SourceFile, ...]
    chosen: str
    text: str | None
    is_cut: bool
    lines: tuple[Line, ...] | None = None

    @property
    def change(self) -> str:
        """The change of the chosen file."""
        return next((one.change for one in self.files if one.name == self.chosen), "")


@explained
def source(request: HttpRequest, submission_id: int) -> HttpResponseBase:
    """Show the files of a version, and the text of the one that `?file=` names; with `?against=N` what has changed."""
    row = get_submission(request, submission_id)
    others = row.agent.submissions.filter(deleted_at=None, is_trial=False).exclude(pk=row.pk).order_by("-number")
    against = _named(request.GET.get("against", ""), list(others))
    wanted = request.GET.get("file", "")
    shown = _read(row, wanted) if against is None else _compare(row, against, wanted)
    context = {
        "submission": row,
        "agent": row.agent,
        "environment": row.agent.environment,
        "source": shown,
        "others": others,
        "against": against,
    }
    response: HttpResponse = render(request, "web/submissions/source.html", context)
    return response


def _named(word: str, others: list[Submission]) -> Submission | None:
    """Return the version that `?against=` names. Raises Http404 if it is not there."""
    if not word:
        return None
    found = next((one for one in others if str(one.number) == word), None)
    if found is None:
        raise Http404("This agent has no such version to compare with, or its owner has deleted it.")
    return found


def _read(row: Submission, wanted: str) -> Source:
    """Read an archive. Raises NotStored, and Http404 for a file that it does not hold."""
    with _opened(row) as (archive, members):
        chosen = wanted or next((name for name in FIRST_SHOWN if name in members), next(iter(members), ""))
        content = _content(archive, members, chosen) if chosen else b""
    files = tuple(SourceFile(name, one.file_size) for name, one in sorted(members.items()))
    return Source(files, chosen, _as_text(content[:MOST_BYTES]), len(content) > MOST_BYTES)


def _compare(row: Submission, against: Submission, wanted: str) -> Source:
    """Read what has changed from one version to another. Raises NotStored, and Http404 for a file that neither has."""
    with _opened(against) as (before, old), _opened(row) as (after, new):
        files = tuple(
            SourceFile(name, (new.get(name) or old[name]).file_size, _change(old.get(name), new.get(name)))
            for name in sorted(old.keys() | new.keys())
        )
        changed = [one.name for one in files if one.change]
        chosen = wanted or next((name for name in FIRST_SHOWN if name in changed), next(iter(changed), ""))
        if not chosen:
            return Source(files, "", None, is_cut=False)
        contents = [
            _content(archive, members, chosen) if chosen in members or chosen not in (*old, *new) else b""
            for archive, members in ((before, old), (after, new))
        ]
    texts = [_as_text(content[:MOST_BYTES]) for content in contents]
    is_text = texts[0] is not None and texts[1] is not None
    lines = changes(texts[0] or "", texts[1] or "") if is_text else None
    return Source(files, chosen, texts[1] if is_text else None, max(map(len, contents)) > MOST_BYTES, lines)


def _change(old: zipfile.ZipInfo | None, new: zipfile.ZipInfo | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    return "" if (old.CRC, old.file_size) == (new.CRC, new.file_size) else "changed"


@contextmanager
def _opened(row: Submission) -> Iterator[tuple[zipfile.ZipFile, Mapping[str, zipfile.ZipInfo]]]:
    """Open an archive with its files by name. Raises NotStored, also for what fails while it is read."""
    if row.deleted_at is not None:
        raise NotStored("This version has been deleted by its owner.")
    try:
        with file_get(row.archive, "This archive is") as file, open_zip(file, LIMITS) as archive:
            yield archive, {one.filename: one for one in archive.infolist()[:MOST_FILES] if not one.is_dir()}
    except (ArchiveRefused, *UNREADABLE):
        raise NotStored("The files of this version cannot be shown here. Download the archive instead.") from None


def _content(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    """Return the beginning of a file. Raises Http404 for one that is not there."""
    if name not in members:
        raise Http404("This version has no such file.")
    with archive.open(members[name]) as member:
        return member.read(MOST_BYTES + 1)


def _as_text(content: bytes) -> str | None:
    """Return UTF-8 text; a character that the limit has cut at the end is left out."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        return content[: error.start].decode() if error.start > len(content) - 4 and error.start else None
