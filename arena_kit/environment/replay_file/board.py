"""The drawings of a classic environment, for a page that works by itself: every picture and style is within the
page."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from arena_kit.environment.adapters.classic.html import can_clean, head_of, html_of, sheet_cleaned
from arena_kit.environment.outside.pictures import TYPES, static_file
from arena_kit.environment.protocol import ArenaEnvironmentError, Frame
from arena_kit.environment.spec import EnvironmentSpec

PICTURES = "pictures/"
"""Stands before the name of a picture in the HTML of a state: the player puts the picture in its place."""
_PICTURE = re.compile(rf' src="{PICTURES}([^"]*)"')


@dataclass(frozen=True, slots=True)
class ClassicBoard:
    """Draws the states of a classic environment, and knows its style. rules: texts of style sheets."""

    spec: EnvironmentSpec
    rules: tuple[str, ...] = field(default=())

    def html_of(self, frame: Frame) -> str:
        """Return the harmless HTML of a frame. Raises BrokenEnvironment."""
        return html_of(self.spec, frame, lambda name: PICTURES + name)

    def pictures(self, drawn: Iterable[str]) -> dict[str, str]:
        """Return the pictures of some HTML as data URLs, by name."""
        names = {name for html in drawn for name in _PICTURE.findall(html)}
        return {name: _data_url(self.spec, name) for name in sorted(names)}


def board_of(spec: EnvironmentSpec) -> ClassicBoard | None:
    """Return what draws a classic environment; None for others, and where nothing can make HTML harmless."""
    if spec.classic is None or not can_clean():
        return None
    try:
        head = head_of(spec, lambda name: name if name.lower().endswith(".css") else _data_url(spec, name))
        sheets = (static_file(spec.folder, name).read_text(encoding="utf-8", errors="replace") for name in head.sheets)
        own = tuple(sheet_cleaned(spec, sheet, lambda name: _data_url(spec, name)) for sheet in sheets)
    except (ArenaEnvironmentError, OSError):
        return ClassicBoard(spec)
    return ClassicBoard(spec, tuple(rule for rule in (*own, *head.rules) if rule))


def _data_url(spec: EnvironmentSpec, name: str) -> str:
    path = static_file(spec.folder, name)
    return f"data:{TYPES[path.suffix.lower()]};base64,{base64.b64encode(path.read_bytes()).decode()}"
