"""The exception of a player in the match that it forfeited: a traceback, which quotes its source."""

from __future__ import annotations

from contextlib import suppress

from arena_kit.environment.records import MatchRecord
from arena_kit.referee.output import trace_in
from arena_kit.referee.tracebacks import without_folders
from arena_kit.text import plain_text
from core.duels.selectors import NotStored, file_get
from core.models import PlayedJob

READ_BYTES = 1 << 20
"""The log of a player is smaller than this, because its output is limited."""


def match_trace(job: PlayedJob, record: MatchRecord) -> str:
    """Return the traceback of the player that forfeited a match, for people who may see its source; "" without one.

    The referee writes it to the player's log. Records that others made may hold it below the sentence. Folders of the
    machine that played it are left out.
    """
    if record.faulty_player is None:
        return ""
    if trace := record.error.partition("\n")[2]:
        return without_folders(plain_text(trace))
    log = job.player_2_log if record.faulty_player else job.player_1_log
    with suppress(NotStored), file_get(log, "This log is") as file:
        return without_folders(plain_text(trace_in(file.read(READ_BYTES).decode("utf-8", "replace"), record.number)))
    return ""
