"""Files: always attachments of a fixed type, never shown by the browser as something else."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from core.models import Submission
from core.selectors.duels import NotStored, file_open, records_open
from environments.classic import classic_document
from environments.registry import get_spec
from web.views.duels import get_duel, source_visible

Response = TypeVar("Response", HttpResponse, StreamingHttpResponse)


def duel_results(request: HttpRequest, duel_id: int) -> StreamingHttpResponse:
    """The classic duel document, made from the records while it is sent."""
    row = get_duel(duel_id)
    try:
        with records_open(row) as archive:
            record = archive.record()
    except NotStored as missing:
        raise Http404(str(missing)) from None
    document = classic_document(get_spec(row.environment_version), record)
    response = StreamingHttpResponse(gzipped(document), content_type="application/gzip")
    return attached(response, f"duel-{duel_id}-results.json.gz")


def duel_records(request: HttpRequest, duel_id: int) -> FileResponse:
    """The records as they are stored."""
    return stored(get_duel(duel_id).records, "The records of this duel are", f"duel-{duel_id}-records.zip")


def duel_log(request: HttpRequest, duel_id: int, log: str) -> HttpResponse | FileResponse:
    """The arena's log for everyone; a player's log for those who may see its agent's source."""
    row = get_duel(duel_id)
    if log == "arena":
        return text(row.log, f"duel-{duel_id}-arena.log")
    players = {"player_1": (row.player_1, row.player_1_log), "player_2": (row.player_2, row.player_2_log)}
    if log not in players or not source_visible(request, players[log][0].agent):
        raise Http404("There is no such log, or its agent is private.")
    return stored(players[log][1], "This player printed nothing, or its log is", f"duel-{duel_id}-{log}.log")


def submission_archive(request: HttpRequest, submission_id: int) -> FileResponse:
    """The uploaded zip."""
    row = get_visible(request, submission_id)
    if row.deleted_at is not None:
        raise Http404("This version has been deleted by its owner.")
    return stored(row.archive, "This archive is", f"{row.agent.name}-v{row.number}.zip")


def submission_log(request: HttpRequest, submission_id: int, log: str) -> HttpResponse | FileResponse:
    """Logs of a submission's phases."""
    row = get_visible(request, submission_id)
    name = f"{row.agent.name}-v{row.number}-{log}.log"
    jobs = {"build": row.latest_build, "validation": row.latest_validation, "publication": row.latest_publication}
    job = jobs.get(log)
    if job is not None:
        return text(job.log, name)
    validation = row.latest_validation
    if log in ("player_1", "player_2") and validation is not None:
        field = validation.player_1_log if log == "player_1" else validation.player_2_log
        return stored(field, "This player printed nothing, or its log is", name)
    raise Http404("There is no such log yet.")


def get_visible(request: HttpRequest, submission_id: int) -> Submission:
    """A submission whose source this person may see; others do not learn that it exists."""
    rows = Submission.objects.select_related("agent__owner").prefetch_related("builds", "validations", "publications")
    row = get_object_or_404(rows, pk=submission_id)
    if not source_visible(request, row.agent):
        raise Http404("There is no such submission, or its agent is private.")
    return row


def stored(field: FieldFile, what: str, name: str) -> FileResponse:
    try:
        with file_open(field, what):
            pass
    except NotStored as missing:
        raise Http404(str(missing)) from None
    kind = "text/plain; charset=utf-8" if name.endswith(".log") else "application/zip"
    return FileResponse(field.storage.open(str(field.name)), as_attachment=True, filename=name, content_type=kind)


def text(content: str, name: str) -> HttpResponse:
    return attached(HttpResponse(content, content_type="text/plain; charset=utf-8"), name)


def attached(response: Response, name: str) -> Response:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def gzipped(chunks: Iterable[str]) -> Iterator[bytes]:
    """Compress text as it comes, with no time in the header, so that equal documents are equal files."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    for chunk in chunks:
        if data := packer.compress(chunk.encode()):
            yield data
    yield packer.flush()
