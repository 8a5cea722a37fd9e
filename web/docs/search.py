"""A search in the documentation, by sections: a section is found if it has all words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from web.docs.pages import DocPage, doc_pages
from web.docs.rendering import Section

IN_TITLE, IN_HEADING, IN_TEXT = 20, 4, 1
"""The weight of a word by the place where it is found; in the title of a page by the share of the title that it is."""
MOST_IN_TEXT = 5
"""How often a word counts in one text."""
MOST_OF_A_PAGE = 2
EXCERPT = 180
"""Characters of a section that are shown."""


@dataclass(frozen=True, slots=True)
class DocHit:
    """A section with the words. excerpt: where the text has the first of them."""

    page: DocPage
    section: Section
    excerpt: str

    @property
    def address(self) -> str:
        heading = self.section.heading
        return self.page.address if heading.level == 1 else f"{self.page.address}#{heading.anchor}"


def doc_search(words: Sequence[str], *, limit: int) -> list[DocHit]:
    """Return the sections with all words, best first, few of each page."""
    wanted = [word.lower() for word in words]
    scored = [
        (score, page, section)
        for page in doc_pages().values()
        for section in page.sections
        if (score := _score(page, section, wanted))
    ]
    scored.sort(key=lambda found: -found[0])
    hits: list[DocHit] = []
    of_page: dict[str, int] = {}
    for _, page, section in scored:
        of_page[page.name] = of_page.get(page.name, 0) + 1
        if of_page[page.name] <= MOST_OF_A_PAGE and len(hits) < limit:
            hits.append(DocHit(page, section, _excerpt(section.text, wanted)))
    return hits


def _score(page: DocPage, section: Section, words: Sequence[str]) -> int:
    """Return how well a section fits, 0 if it lacks a word."""
    title, heading, text = page.title.lower(), section.heading.title.lower(), section.text.lower()
    total = 0
    for word in words:
        count = min(text.count(word), MOST_IN_TEXT) * IN_TEXT
        count += (word in heading) * IN_HEADING + (word in title) * IN_TITLE * len(word) // len(title)
        if not count:
            return 0
        total += count
    return total


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return the part of a text around the first of the words, cut at spaces."""
    places = [place for word in words if (place := text.lower().find(word)) >= 0]
    start = max(0, min(places, default=0) - EXCERPT // 3)
    if start:
        start = text.find(" ", start) + 1
    shown = text[start : start + EXCERPT]
    if start + EXCERPT < len(text):
        shown = shown.rpartition(" ")[0] + " …"
    return f"… {shown}" if start else shown
