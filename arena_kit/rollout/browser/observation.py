"""The agent's view of the browser, and what else an order has brought to light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena_kit.errors import PlatformFault
from arena_kit.text import plain_text

MOST_SNAPSHOT, MOST_URL, MOST_LINE = 64 << 10, 8_000, 2_000
MOST_TABS = 20
LATEST_MS = 1 << 52
MOST_PICTURE_BYTES = 16 << 20
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the browser. Only the active one tells its title."""

    url: str
    title: str
    active: bool


@dataclass(frozen=True, slots=True)
class PageObservation:
    """The view of the page. error: why the last action did not work, or what else happened; empty without.

    snapshot: the page as text, with references and boxes. picture: a PNG, if one was asked for. dialog: the text of a
    dialog that waits.
    """

    url: str = ""
    title: str = ""
    tabs: tuple[Tab, ...] = ()
    snapshot: str = ""
    dialog: str | None = None
    error: str = ""
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer of the browser. is_done: whether the action was carried out. frames: pictures of the video, each with
    milliseconds since 1970. trace: at the end, if there is one."""

    observation: PageObservation
    is_done: bool
    requests: tuple[Mapping[str, Any], ...] = ()
    requests_lost: int = 0
    frames: tuple[tuple[int, bytes], ...] = ()
    trace: bytes | None = None


def seen_read(answer: Mapping[str, Any], attachments: Sequence[bytes]) -> Seen:
    """Return an answer of the browser's server, which a page may have taken over. Raises PlatformFault."""
    try:
        left = list(attachments)
        picture = left.pop(0) if answer["has_picture"] is True else None
        trace = left.pop(0) if answer["has_trace"] is True else None
        times = answer["frames_at"]
        if picture is not None and (not picture.startswith(PNG) or len(picture) > MOST_PICTURE_BYTES):
            picture = None
        problem = _line(answer["problem"])
        remarks = [_line(each) for each in answer["remarks"][:5]]
        observation = PageObservation(
            url=plain_text(_text(answer["url"]))[:MOST_URL],
            title=_line(answer["title"]),
            tabs=tuple(_tab(each) for each in answer["tabs"][:MOST_TABS]),
            snapshot=plain_text(_text(answer["snapshot"]))[:MOST_SNAPSHOT],
            dialog=None if answer["dialog"] is None else _line(answer["dialog"]),
            error=" ".join([*([problem] if problem else []), *remarks]),
            picture=picture,
        )
        frames = tuple((min(max(int(at), 0), LATEST_MS), frame) for at, frame in zip(times, left, strict=True))
        requests = tuple(each for each in answer["requests"] if isinstance(each, dict))
        return Seen(observation, not problem, requests, int(answer["requests_lost"]), frames, trace)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise PlatformFault(
            f"The browser's answer cannot be read: {type(error).__name__}.", code="browser_failed"
        ) from None


def _tab(value: Mapping[str, Any]) -> Tab:
    return Tab(plain_text(_text(value["url"]))[:MOST_URL], _line(value["title"]), value["active"] is True)


def _line(value: Any) -> str:
    return " ".join(plain_text(_text(value)[: 2 * MOST_LINE]).split())[:MOST_LINE]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
