"""The topics of the streams: the wall, running duels that everyone may see, and the boards of people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import close_old_connections

from core.duels.selectors import duel_get
from core.models import Duel
from core.sittings.selectors import boards_changed
from core.watching.wall import duel_is_public
from web.watching.parts import board_part, wall_part


@dataclass(frozen=True, slots=True)
class Told:
    """The message of a stream. parts: HTML by the id of the element of the page. progress: differs when the page has
    more to ask for. is_over: whether nothing more will come."""

    parts: Mapping[str, str]
    progress: str = ""
    is_over: bool = False


@dataclass(slots=True)
class _Boards:
    """The boards at the last look: all are read at once. changed: by the name of a board, when it changed last."""

    changed: Mapping[str, str]
    read_at: float


BOARDS_SECONDS = 0.03
_boards = _Boards({}, 0.0)


def look(topic: str) -> Told | None:
    """Return what everyone may see of a topic now; None if that is nothing."""
    close_old_connections()
    try:
        if topic == "wall":
            return Told({"wall": str(wall_part())})
        if topic.startswith("sittings/"):
            return _sitting(topic.removeprefix("sittings/"))
        return _duel(int(topic.removeprefix("duels/")))
    finally:
        close_old_connections()


def _sitting(public_id: str) -> Told:
    """Return when a board changed last: its content depends on the reader, whose page loads it."""
    if public_id not in _boards.changed or time.monotonic() - _boards.read_at > BOARDS_SECONDS:
        _boards.changed, _boards.read_at = boards_changed(_boards.changed), time.monotonic()
    changed = _boards.changed.get(public_id)
    return Told({}, changed or "", is_over=changed is None)


def _duel(duel_id: int) -> Told | None:
    try:
        duel = duel_get(duel_id)
    except (Duel.DoesNotExist, OverflowError):
        return None
    if not duel_is_public(duel):
        return None
    if duel.is_over:
        return Told({}, duel.state, is_over=True)
    return Told({"live-board": str(board_part(duel))}, f"{duel.state} {duel.matches_done}")
