"""A page of the documentation as HTML: Markdown without raw HTML, with anchors and links that work on the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

LinkOf = Callable[[str], str | None]
"""Returns the address of a file on the site, by its path in the repository; None if the site does not show it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with its anchor. level: from 1."""

    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the plain text below it, up to the next heading."""

    heading: Heading
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as HTML, and its sections for a table of contents and a search."""

    html: str
    sections: tuple[Section, ...]


def anchor_of(title: str) -> str:
    """Return the anchor of a heading, as git hosts make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def render_document(text: str, path: str, link_of: LinkOf) -> Rendered:
    """Render the Markdown of a file. path: of the file in the repository, to which its relative links refer."""
    reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    tokens = reader.parse(text)
    sections = tuple(_split(tokens))
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                _lead(child, posixpath.dirname(path), link_of)
    return Rendered(reader.renderer.render(tokens, reader.options, {}), sections)


def _split(tokens: list[Token]) -> Iterator[Section]:
    """Give every heading its anchor, and return each with the text below it."""
    heading: Heading | None = None
    words: list[str] = []
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            if heading is not None:
                yield Section(heading, " ".join(words))
            title = _plain(tokens[number + 1])
            heading, words = Heading(int(token.tag[1:]), title, anchor_of(title)), []
            token.attrSet("id", heading.anchor)
        elif token.type == "fence" or (token.type == "inline" and tokens[number - 1].type != "heading_open"):
            words.append(" ".join((token.content if token.type == "fence" else _plain(token)).split()))
    if heading is not None:
        yield Section(heading, " ".join(words))


def _plain(token: Token) -> str:
    """Return the words of a line without its marks."""
    return "".join(child.content or " " * (child.type == "softbreak") for child in token.children or ())


def _lead(link: Token, folder: str, link_of: LinkOf) -> None:
    """Lead a relative link to the page of the file on the site, or to nowhere if there is none."""
    wanted, _, fragment = str(link.attrGet("href") or "").partition("#")
    if not wanted or "://" in wanted or wanted.startswith("mailto:"):
        return
    address = link_of(posixpath.normpath(posixpath.join(folder, wanted)))
    if address is None:
        del link.attrs["href"]
    else:
        link.attrSet("href", f"{address}#{fragment}" if fragment else address)


class _Renderer(RendererHTML):
    """Lets readers scroll wide tables and long lines of code with the keyboard too."""

    def table_open(self, *_: object) -> str:
        return '<div class="wide-table" tabindex="0"><table>\n'

    def table_close(self, *_: object) -> str:
        return "</table></div>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return super().fence(tokens, idx, options, env).replace("<pre>", '<pre tabindex="0">', 1)
