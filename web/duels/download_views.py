"""Downloads. Every file is an attachment with a fixed content type, so that no browser renders it."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse

from arena_kit.environment.adapters.classic.document import classic_document
from arena_kit.environment.protocol import BrokenEnvironment
from arena_kit.environment.replay import ReplayMismatch
from core.duels.selectors import (
    SPOOL_BYTES,
    NotStored,
    file_get,
    records_open,
    records_shown,
    spec_get,
)
from web.duels.parts import origin_crumbs
from web.site.files import GZIP, ZIP, attachment, log_page
from web.site.played import get_duel, source_visible
from web.site.refusals import explained


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
    file = records_shown(row, lambda agent: source_visible(request, agent))
    return attachment(file, f"duel-{duel_id}-records.zip", ZIP)


@explained
def duel_log(request: HttpRequest, duel_id: int, log: str) -> HttpResponseBase:
    """Show the arena's log to everyone, a player's log to people who may see its agent's source."""
    row = get_duel(request, duel_id)
    name = f"duel-{duel_id}-{log}.log"
    crumbs = [(reverse("web:environment", args=[row.environment.slug]), str(row.environment))]
    crumbs += [*origin_crumbs(row), (reverse("web:duel", args=[duel_id]), str(row))]
    if log == "arena":
        return log_page(request, row.log, name, f"The arena's log of {row}", crumbs)
    players = {"player_1": (row.player_1, row.player_1_log), "player_2": (row.player_2, row.player_2_log)}
    if log not in players or not source_visible(request, players[log][0].agent):
        raise Http404("There is no such log, or its agent is private.")
    file = file_get(players[log][1], "This player printed nothing, or its log is")
    return log_page(request, file, name, f"Output of {players[log][0]}", crumbs)


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
