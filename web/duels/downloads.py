"""Downloads. Every file is an attachment with a fixed content type, so that no browser renders it."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase

from arena_kit.environment.adapters.classic.document import classic_document
from arena_kit.environment.protocol import BrokenEnvironment
from arena_kit.environment.replay import ReplayMismatch
from core.duels.selectors import (
    SPOOL_BYTES,
    NotStored,
    file_get,
    records_open,
    records_without_traces,
    spec_get,
)
from core.models import Submission
from web.duels.views import get_duel, source_visible
from web.site.refusals import explained

TEXT, ZIP, GZIP, JSON = "text/plain; charset=utf-8", "application/zip", "application/gzip", "application/json"


@explained
def duel_results(request: HttpRequest, duel_id: int) -> HttpResponseBase:
    """Send the classic duel document, made from the records, with the digests and the hash to check it by."""
    row = get_duel(request, duel_id)
    check: dict[str, object] = {
        "environment": row.environment_version,
        "seed": row.seed,
        "player_1_image": row.player_1_digest,
        "player_2_image": row.player_2_digest,
        "sha256": row.record_sha256,
    }
    if row.test is not None:
        check |= {"most_matches": row.match_count, "test": row.test, "test_result": row.test_result}
    with records_open(row) as archive:
        record = archive.record()
    spec = spec_get(row)
    try:
        file = gzipped(classic_document(spec, record, check=check))
    except BrokenEnvironment:
        raise NotStored("The code of this environment has failed, so its matches cannot be played again now.") from None
    except ReplayMismatch as mismatch:
        raise NotStored(f"The records of this duel do not fit its rules. {mismatch}") from None
    return attachment(file, f"duel-{duel_id}-results.json.gz", GZIP)


@explained
def duel_records(request: HttpRequest, duel_id: int) -> HttpResponseBase:
    """Send the records, without the tracebacks of agents whose source the viewer may not see: tracebacks quote it."""
    row = get_duel(request, duel_id)
    errors = (row.player_1_errors, row.player_2_errors)
    hidden = [
        player
        for player, submission in enumerate((row.player_1, row.player_2))
        if errors[player] and not source_visible(request, submission.agent)
    ]
    if hidden or not row.records:
        file = records_without_traces(row, hidden)
    else:
        file = file_get(row.records, "The records of this duel are")
    return attachment(file, f"duel-{duel_id}-records.zip", ZIP)


@explained
def duel_log(request: HttpRequest, duel_id: int, log: str) -> HttpResponseBase:
    """Send the arena's log to everyone, a player's log to people who may see its agent's source."""
    row = get_duel(request, duel_id)
    name = f"duel-{duel_id}-{log}.log"
    if log == "arena":
        return text(row.log, name)
    players = {"player_1": (row.player_1, row.player_1_log), "player_2": (row.player_2, row.player_2_log)}
    if log not in players or not source_visible(request, players[log][0].agent):
        raise Http404("There is no such log, or its agent is private.")
    return attachment(file_get(players[log][1], "This player printed nothing, or its log is"), name, TEXT)


@explained
def submission_archive(request: HttpRequest, submission_id: int) -> HttpResponseBase:
    """Send the uploaded zip."""
    row = get_submission(request, submission_id)
    if row.deleted_at is not None:
        raise NotStored("This version has been deleted by its owner.")
    return attachment(file_get(row.archive, "This archive is"), f"{row.agent.name}-v{row.number}.zip", ZIP)


@explained
def submission_sbom(request: HttpRequest, submission_id: int) -> HttpResponseBase:
    """Send the bill of materials of the image (CycloneDX)."""
    row = get_submission(request, submission_id)
    build = row.latest_build
    if build is None or not build.sbom:
        raise NotStored("This version has no bill of materials: it has no image, or its image was built without one.")
    file = file_get(build.sbom, "This bill of materials is")
    return attachment(file, f"{row.agent.name}-v{row.number}-sbom.json", JSON)


@explained
def submission_log(request: HttpRequest, submission_id: int, log: str) -> HttpResponseBase:
    """Send the log of a submission's phase, or what a player printed while the submission played against itself."""
    row = get_submission(request, submission_id)
    name = f"{row.agent.name}-v{row.number}-{log}.log"
    validation = row.latest_validation
    jobs = {"build": row.latest_build, "validation": validation, "publication": row.latest_publication}
    if log not in (*jobs, "player_1", "player_2"):
        raise Http404("There is no such log.")
    if log in jobs:
        job = jobs[log]
        if job is None:
            raise NotStored(f"There is no log of the {log} yet.")
        return text(job.log, name)
    if validation is None:
        raise NotStored("This version has not been validated yet.")
    field = validation.player_1_log if log == "player_1" else validation.player_2_log
    return attachment(file_get(field, "This player printed nothing, or its log is"), name, TEXT)


def get_submission(request: HttpRequest, submission_id: int) -> Submission:
    """Return a submission whose source the viewer may see. Raises Http404, also if it exists but is private."""
    rows = Submission.objects.select_related("agent__owner").prefetch_related("builds", "validations", "publications")
    try:
        row = rows.get(pk=submission_id)
    except Submission.DoesNotExist:
        raise Http404("There is no such submission.") from None
    if not source_visible(request, row.agent):
        raise Http404("There is no such submission.")
    return row


def attachment(file: IO[bytes], name: str, kind: str) -> FileResponse:
    """Return a file as a download. The response closes the file."""
    return FileResponse(file, as_attachment=True, filename=name, content_type=kind)


def text(content: str, name: str) -> HttpResponse:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=TEXT, headers=disposition)


def gzipped(chunks: Iterable[str]) -> IO[bytes]:
    """Compress text completely before its first byte is sent, so that an error can still become a page.

    The header has no time, so equal documents give equal files.
    """
    file = cast(IO[bytes], SpooledTemporaryFile(max_size=SPOOL_BYTES))  # noqa: SIM115  (the response closes it)
    try:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
            for chunk in chunks:
                packed.write(chunk.encode())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file
