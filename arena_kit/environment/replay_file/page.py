"""Writes a match or an episode as one HTML page that works by itself, from a disk, without a network.

All names and texts in it are hostile: they stand in the page as escaped text, and in its data as escaped JSON.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from types import MappingProxyType

from arena_kit.environment.episodes import EpisodeRecord
from arena_kit.environment.replay_file.board import ClassicBoard, board_of
from arena_kit.environment.replay_file.facts import Played, ReplayFacts, ending
from arena_kit.environment.replay_file.views import FrameView, SeatView, frame_views, seat_views
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_text

MAX_BYTES = 5_000_000
"""A page is no larger: longer matches show fewer states, and say so."""
NOTE_BYTES = 400
"""Kept free for the sentence that says what is missing."""
ASSETS = Path(__file__).parent / "assets"
_STYLE = re.compile(r"<style>[^<]*</style>")
_EMPTY_STYLE = "<style/>"
_BOARD = (
    '<div id="board" class="drawn" role="img" hidden></div><script type="application/json" id="sheets">[]</script>'
    '<script type="application/json" id="rules">{rules}</script>'
)


@dataclass(frozen=True, slots=True)
class PageExtras:
    """The parts that only an embedded page has: the address that its title leads to, and tags for its head.

    tags: (property, content) of `<meta>` elements.
    """

    address: str = ""
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The needs of a classic environment's HTML in the page: style sheets, and pictures by name as data URLs."""

    rules: tuple[str, ...]
    pictures: Mapping[str, str]

    @classmethod
    def of(cls, board: ClassicBoard | None, views: Sequence[FrameView]) -> _Drawn | None:
        """Return what these states need; None without HTML."""
        drawn = [view.html for view in views if view.html]
        return cls(board.rules, board.pictures(drawn)) if board is not None and drawn else None


def replay_page(
    spec: EnvironmentSpec,
    record: Played,
    facts: ReplayFacts,
    *,
    max_bytes: int = MAX_BYTES,
    extras: PageExtras = PageExtras(),
) -> str:
    """Return the page. Raises NotDrawable if the record does not fit the rules."""
    board = board_of(spec)
    views = _views(spec, record, facts, board)
    smallest = _page(spec, record, facts, views[:1], "", extras, _Drawn.of(board, views))
    shown, note = thinned(views, max_bytes - len(smallest.encode()))
    return _page(spec, record, facts, shown, note, extras, _Drawn.of(board, shown))


def replay_theatre(
    spec: EnvironmentSpec, record: Played, facts: ReplayFacts, *, max_bytes: int = MAX_BYTES, place: str = ""
) -> str:
    """Return the player with one replay, for a page that holds several and shows one at a time.

    The page brings `player_style` and `player_script`; the elements have ids, so all but one stand in a `<template>`.
    place: stands in front of the state in every address, e.g. `match=3&`. Raises NotDrawable.
    """
    board = board_of(spec)
    views = _views(spec, record, facts, board)
    smallest = _theatre(record, facts, views[:1], "", place, _Drawn.of(board, views))
    shown, note = thinned(views, max_bytes - len(smallest.encode()), place=place)
    return _theatre(record, facts, shown, note, place, _Drawn.of(board, shown))


def _views(spec: EnvironmentSpec, record: Played, facts: ReplayFacts, board: ClassicBoard | None) -> list[FrameView]:
    return frame_views(spec, record, facts.names, html_of=None if board is None else board.html_of)


def thinned(views: Sequence[FrameView], budget: int, *, place: str = "") -> tuple[list[FrameView], str]:
    """Return as many states as fit into a number of bytes, evenly spread, with the first and the last, and a note.

    The note is a sentence if anything is missing. If not even two pictures fit, the states have no pictures.
    """
    shared = _shared(views)
    sizes = [len(_state(view, shared)) + len(_move(view, place).encode()) + 1 for view in views]
    budget -= len(_json(shared))
    if sum(sizes) <= budget:
        return list(views), ""
    last = len(views) - 1
    for stride in range(2, last + 1):
        kept = [*range(0, last, stride), last]
        if sum(sizes[index] for index in kept) + NOTE_BYTES <= budget:
            every = "half" if stride == 2 else f"one in {stride}"
            note = f"This file shows {every} of the {last + 1:,} states, because all of them would make it too large."
            return [views[index] for index in kept], note
    if not any(view.svg or view.html for view in views):
        return [views[0], *views[max(1, last) :]], "This file shows the first and the last state only."
    fewer, note = thinned([replace(view, svg="", html="") for view in views], budget, place=place)
    return fewer, f"The pictures are left out, because they would make this file too large. {note}".strip()


def page_policy() -> str:
    """Return the Content-Security-Policy of the page."""
    return policy_of(player_style(), player_script())


def policy_of(style: str, *scripts: str) -> str:
    """Return the Content-Security-Policy of a page with its own style, scripts and pictures, and nothing else."""
    allowed = " ".join(f"'{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def player_style() -> str:
    """Return the style of a page with the player."""
    return _asset("page.css") + _asset("player.css")


def player_script() -> str:
    """Return the script of the player, which begins at once with the replay in the page."""
    return _asset("scheme.js") + _asset("player.js")


def plain_page(sentence: str) -> str:
    """Return a page of the same looks that says one sentence, in place of a replay."""
    return (
        '<!doctype html>\n<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(sentence)}</title><style>{player_style()}</style></head>"
        f'<body><main><p class="panel">{escape(sentence)}</p></main></body></html>\n'
    )


def _page(
    spec: EnvironmentSpec,
    record: Played,
    facts: ReplayFacts,
    views: Sequence[FrameView],
    note: str,
    extras: PageExtras,
    drawn: _Drawn | None,
) -> str:
    title = " against ".join(facts.names)
    heading = _isolated(title)
    what = _what(record)
    return Template(_template("page.html")).substitute(
        policy=escape(page_policy()),
        title=escape(f"{title} · {what.capitalize()} {record.number} · {spec.name}"),
        tags="".join(f'<meta property="{escape(name)}" content="{escape(value)}">\n' for name, value in extras.tags),
        style=player_style(),
        heading=f'<a href="{escape(extras.address)}" target="_blank" rel="noopener">{heading}</a>'
        if extras.address
        else heading,
        subtitle=escape(f"{spec.name}, {what} {record.number}: ") + _isolated(ending(record, facts.names)),
        theatre=_theatre(record, facts, views, note, "", drawn),
        script=player_script(),
    )


def _theatre(
    record: Played, facts: ReplayFacts, views: Sequence[FrameView], note: str, place: str, drawn: _Drawn | None
) -> str:
    is_episode = isinstance(record, EpisodeRecord)
    first = views[0]
    return Template(_template("theatre.html")).substitute(
        notes=f'<p class="note" role="note">{escape(note)}</p>\n' if note else "",
        what=_what(record),
        picture=first.picture or "data:,",
        hidden="" if first.svg else " hidden",
        board="" if drawn is None else _BOARD.format(rules=_json(drawn.rules)),
        last=views[-1].ply,
        caption=escape(first.caption),
        players="Player" if is_episode else "Players",
        seats="".join(_seat(seat, is_alone=is_episode) for seat in seat_views(record, facts.names)),
        text=escape(plain_text(first.text)),
        moves_title="Steps" if is_episode else "Moves",
        moves="".join(_move(view, place) for view in views),
        data=_data(views) if drawn is None else _data(views, drawn.pictures),
    )


def _what(record: Played) -> str:
    return "episode" if isinstance(record, EpisodeRecord) else "match"


def _seat(seat: SeatView, *, is_alone: bool) -> str:
    where = "" if is_alone else f'<span class="muted">{seat.ordinal} seat</span>'
    return (
        f'<li><span class="disc player-{seat.player}"></span><div><strong>{_isolated(seat.name)}</strong>{where}</div>'
        f"<b>{seat.score:g}</b></li>"
    )


def _move(view: FrameView, place: str) -> str:
    discs = (
        "".join(f'<span class="disc player-{player + 1}"></span>' for player in view.players)
        or '<span class="disc"></span>'
    )
    current = ' aria-current="step"' if view.ply == 0 else ""
    return (
        f'<li><a href="#{escape(place)}ply={view.ply}"{current}><span class="muted">{view.ply}</span>{discs}'
        f'<span dir="auto">{escape(view.caption)}</span></a></li>'
    )


def _data(views: Sequence[FrameView], pictures: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the states as JSON that no HTML parser takes for anything else."""
    shared = _shared(views)
    states = ",".join(_state(view, shared) for view in views)
    named = f'"pictures":{_json(pictures)},' if pictures else ""
    return f'{{"shared":{_json(shared)},{named}"states":[{states}]}}'


def _state(view: FrameView, shared: str) -> str:
    svg = view.svg.replace(shared, _EMPTY_STYLE, 1) if shared else view.svg
    html = {"html": view.html} if view.html else {}
    return _json({"ply": view.ply, "svg": svg, "text": plain_text(view.text), **html})


def _shared(views: Sequence[FrameView]) -> str:
    """Return the style that all pictures begin with, which is stored once; empty if they do not share one."""
    found = _STYLE.search(views[0].svg)
    style = found[0] if found else ""
    is_in_all = all(style in view.svg and _EMPTY_STYLE not in view.svg for view in views)
    return style if is_in_all else ""


def _json(value: object) -> str:
    # Without "<", neither the end of the element nor a comment can begin in it.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _isolated(text: str) -> str:
    """Return a text in which the direction of a name does not turn what stands around it."""
    return f"<bdi>{escape(text)}</bdi>"


@cache
def _template(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
