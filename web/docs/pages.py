"""The pages of the documentation: the Markdown files in docs/, in the groups of its index."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.urls import reverse

from web.docs.rendering import Heading, Section, render_document

INDEX = ""
"""The name of the page that lists all others: docs/README.md."""
DEEPEST = 3
"""The last level of headings in a page's table of contents."""


@dataclass(frozen=True, slots=True)
class DocPage:
    """A page. name: its path without docs/ and .md. group: the heading of the index under which it is listed."""

    name: str
    title: str
    group: str
    html: str
    sections: tuple[Section, ...]

    @property
    def address(self) -> str:
        return doc_address(self.name)

    @property
    def contents(self) -> list[Heading]:
        """The headings below the title."""
        found = (section.heading for section in self.sections)
        return [heading for heading in found if 1 < heading.level <= DEEPEST]

    @property
    def first_words(self) -> str:
        return self.sections[0].text if self.sections else ""


def doc_address(name: str) -> str:
    """Return the address of a page by its name."""
    return reverse("web:doc", args=[name]) if name else reverse("web:docs")


@cache
def doc_pages() -> Mapping[str, DocPage]:
    """Return all pages by name, in the order of the index. They are read once, as they change with the code only."""
    folder = settings.BASE_DIR / "docs"
    names = {_name(path.relative_to(folder).as_posix()): path for path in sorted(folder.rglob("*.md"))}
    listed = _listed((folder / "README.md").read_text())

    def link_of(file: str) -> str | None:
        name = _name(file.removeprefix("docs/")) if file.startswith("docs/") and file.endswith(".md") else None
        return doc_address(name) if name in names else None

    def page_of(name: str) -> DocPage:
        path = names[name]
        done = render_document(path.read_text(), path.relative_to(settings.BASE_DIR).as_posix(), link_of)
        title = done.sections[0].heading.title if done.sections else name
        return DocPage(name, title, listed.get(name, ""), done.html, done.sections)

    return {name: page_of(name) for name in dict.fromkeys((INDEX, *listed, *names)) if name in names}


@dataclass(frozen=True, slots=True)
class IndexPart:
    """A part of the index, for one kind of reader. html: with its heading."""

    title: str
    html: str


def index_parts() -> Sequence[IndexPart]:
    """Return the parts of the index below its first words, in its order."""
    page = doc_pages()[INDEX]
    titles = [heading.title for heading in page.contents if heading.level == 2]
    return [IndexPart(*part) for part in zip(titles, re.split(r"(?=<h2)", page.html)[1:], strict=True)]


def doc_group(page: DocPage) -> Sequence[DocPage]:
    """Return the pages that are listed together with one."""
    return [other for other in doc_pages().values() if other.group == page.group]


def _name(file: str) -> str:
    """Return the name of a page by its file in docs/."""
    return INDEX if file == "README.md" else file.removesuffix(".md")


def _listed(index: str) -> dict[str, str]:
    """Return the names of the pages that the index lists, in its order, each with the heading above it."""
    found: dict[str, str] = {}
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        group = part.partition("\n")[0]
        for file in re.findall(r"\]\(([\w/-]+\.md)\)", part):
            found.setdefault(_name(file), group)
    return found
