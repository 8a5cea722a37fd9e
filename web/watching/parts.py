"""Parts of pages that show what is played now: the same for everyone, so they are made once in a while for all."""

from __future__ import annotations

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from core.cache.answers import cached
from core.duels.selectors import NotStored
from core.models import Duel, JobState
from core.watching.selectors import DELAY, LiveState, live_state
from core.watching.services import duel_watch, why_not_live
from core.watching.wall import Wall, wall_get

FRESH_SECONDS = 0.4
"""Age up to which a part is shown as it is: less than the time between two looks of a stream."""
DELAY_SECONDS = int(DELAY.total_seconds())


def board_part(duel: Duel) -> SafeString:
    """Return the board of a duel that is not over, and note that it is watched. The caller checks who may see it."""
    duel_watch(duel)
    key = f"live:board:{duel.pk}:{duel.state}:{duel.claim_token}"
    return mark_safe(cached(key, str, lambda: _board(duel), seconds=FRESH_SECONDS))  # noqa: S308  (rendered by a template, which escapes)


def wall_part() -> SafeString:
    """Return what everyone may see of what is played now."""
    return mark_safe(cached("live:wall", str, _wall, seconds=FRESH_SECONDS))  # noqa: S308  (rendered by a template, which escapes)


def events_address(topic: str) -> str:
    """Return the address of a stream, or an empty text where no process serves them."""
    return f"{settings.EVENTS_URL}/{topic}" if settings.EVENTS_URL else ""


def _board(duel: Duel) -> str:
    return "".join([render_to_string("web/watching/board.html", board_context(duel))])


def board_context(duel: Duel) -> dict[str, object]:
    """Return what the template of a board shows. missing: why there is nothing to see."""
    state: LiveState | None = None
    missing = why_not_live(duel) if duel.state == JobState.RUNNING else ""
    try:
        state = live_state(duel)
    except NotStored as error:
        missing = str(error)
    return {"duel": duel, "live": state, "missing": missing, "delay_seconds": DELAY_SECONDS}


def _wall() -> str:
    wall: Wall = wall_get()
    context: dict[str, object] = {"wall": wall, "events": events_address("wall")}
    if wall.featured is not None:
        duel_watch(wall.featured)
        context["board"] = board_context(wall.featured)
    return "".join([render_to_string("web/watching/wall.html", context)])
