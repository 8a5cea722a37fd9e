"""The HTML of classic environments, made harmless: organisers' code draws it, so it is untrusted.

Only elements and attributes that show something stay. Pictures and style sheets are those of the environment's own
folder, whatever address names them; everything else that could load something is dropped. Pages draw it in a shadow
root, apart from their own elements and styles. It needs the package nh3 (extra `classic`); files without it show the
JSON of a state.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from importlib.util import find_spec

from arena_kit.environment.outside.pictures import NotShown, static_file, style_sheets
from arena_kit.environment.protocol import Frame
from arena_kit.environment.server.client import draw
from arena_kit.environment.server.frames import Drawing
from arena_kit.environment.spec import EnvironmentSpec

MOST_CHARACTERS = 1 << 20
"""Longer HTML is not shown; the state's JSON is."""
SHAPES = frozenset({"svg", "g", "path", "circle", "ellipse", "rect", "line", "polygon", "polyline", "text", "tspan"})
TAGS = SHAPES | {
    "a",
    "abbr",
    "article",
    "aside",
    "b",
    "bdi",
    "blockquote",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "main",
    "mark",
    "meter",
    "ol",
    "p",
    "pre",
    "progress",
    "q",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
    "var",
    "wbr",
}
DRAWN = {
    "viewbox",
    "viewBox",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "d",
    "points",
    "fill",
    "stroke",
    "stroke-width",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-dasharray",
    "opacity",
    "fill-opacity",
    "transform",
    "font-size",
    "font-family",
    "font-weight",
    "text-anchor",
    "dominant-baseline",
    "width",
    "height",
    "preserveAspectRatio",
}
EVERYWHERE = {"class", "id", "style", "title", "align", "valign", "width", "height", "role", "aria-label", "dir"}
ATTRIBUTES = {
    "*": EVERYWHERE,
    "img": {"src", "alt"},
    "td": {"colspan", "rowspan", "bgcolor"},
    "th": {"colspan", "rowspan", "scope", "bgcolor"},
    "table": {"border", "cellpadding", "cellspacing", "bgcolor"},
    "col": {"span"},
    "colgroup": {"span"},
    "ol": {"start", "type"},
    "li": {"value"},
    "meter": {"value", "min", "max"},
    "progress": {"value", "max"},
    **dict.fromkeys(SHAPES, DRAWN),
}
_TAG_OF_DJANGO = re.compile(r"""\{%\s*static\s+['"]([^'"%]*)['"]\s*%\}""")
_LOADS = re.compile(r"url\s*\(|image-set|@import|expression|\\", re.IGNORECASE)
_LINK = re.compile(r"url\(([^)]*)\)?", re.IGNORECASE)


AddressOf = Callable[[str], str]
"""Takes the name of a file in the environment's `static/`; returns the address by which a page loads it."""


@dataclass(frozen=True, slots=True)
class Head:
    """The styles of an environment's HTML. sheets: addresses of style sheets. rules: texts of style elements."""

    sheets: tuple[str, ...]
    rules: tuple[str, ...]


def head_of(spec: EnvironmentSpec, address_of: AddressOf) -> Head:
    """Return what styles an environment's HTML: what its head names, or else every style sheet of its folder.

    Raises BrokenEnvironment.
    """
    reader = _HeadReader()
    reader.feed(_plain_addresses(draw(spec, Drawing.HEAD)[:MOST_CHARACTERS]))
    reader.close()
    named = [address_of(name) for href in reader.sheets if (name := own_file(spec, href, is_sheet=True))]
    if not named and not reader.rules:
        named = [address_of(name) for name in style_sheets(spec.folder)]
    rules = [sheet_cleaned(spec, rule, address_of) for rule in reader.rules]
    return Head(tuple(dict.fromkeys(named)), tuple(rule for rule in rules if rule))


def sheet_cleaned(spec: EnvironmentSpec, rules: str, address_of: AddressOf) -> str:
    """Return a style sheet that loads only files of the environment's folder; empty if it imports another."""
    if "@import" in rules.lower():
        return ""

    def own_link(link: re.Match[str]) -> str:
        name = own_file(spec, link[1].strip(" \t\r\n\f'\""))
        return f"url({address_of(name)})" if name else "none"

    return _LINK.sub(own_link, rules)


def html_of(spec: EnvironmentSpec, frame: Frame, address_of: AddressOf) -> str:
    """Return the harmless HTML of a frame; "" where there is too much of it. Raises BrokenEnvironment."""
    drawn = draw(spec, Drawing.HTML, frame)
    return "" if len(drawn) > MOST_CHARACTERS else cleaned(spec, drawn, address_of)


def can_clean() -> bool:
    """Return whether the package is there that makes HTML harmless."""
    return find_spec("nh3") is not None


def cleaned(spec: EnvironmentSpec, html: str, address_of: AddressOf) -> str:
    """Return HTML without anything that runs, loads or leads elsewhere."""
    import nh3  # an extra of the library

    def kept(_: str, name: str, value: str) -> str | None:
        if name == "src":
            own = own_file(spec, value)
            return address_of(own) if own else None
        if name in ("style", "fill", "stroke"):
            # The page sets styles by itself, because its policy forbids them in HTML.
            return None if _LOADS.search(value) else value
        return value

    return nh3.clean(
        _plain_addresses(html),
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        attribute_filter=kept,
        url_schemes=set(),
        link_rel=None,
        clean_content_tags={"script", "style", "template", "iframe", "object", "noscript"},
    )


def own_file(spec: EnvironmentSpec, address: str, *, is_sheet: bool = False) -> str | None:
    """Return the name of the file in the environment's folder that any address names; None if there is none."""
    name = address.strip().partition("?")[0].partition("#")[0].rpartition("/")[2]
    try:
        path = static_file(spec.folder, name)
    except (NotShown, OSError, ValueError):
        return None
    return name if is_sheet == (path.suffix.lower() == ".css") else None


def _plain_addresses(html: str) -> str:
    """Return HTML whose template tags for static files have become the names in them."""
    return _TAG_OF_DJANGO.sub(r"\1", html)


class _HeadReader(HTMLParser):
    """Collects the style sheets and style elements of a head."""

    def __init__(self) -> None:
        super().__init__()
        self.sheets: list[str] = []
        self.rules: list[str] = []
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._is_style = tag == "style"
        if self._is_style:
            self.rules.append("")
        if tag == "link" and "stylesheet" in given.get("rel", "stylesheet").lower().split():
            self.sheets.append(given.get("href", ""))

    def handle_endtag(self, tag: str) -> None:
        self._is_style = False

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self.rules[-1] += data
