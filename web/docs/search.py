"""A search in the documentation, by sections and by whole words or their beginnings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from web.docs.pages import DocPage, doc_pages
from web.docs.rendering import Section

IN_TITLE, IN_HEADING, IN_TEXT = 20, 20, 1
"""The weight of a word by the place where it is found; in a title or heading by the share of it that the word is."""
FIRST = {"participant": 2.5, "quickstart": 1.5, "organiser": 0.8, "operator": 0.8, "contributor": 0.3}
"""How much more, or less, the pages of a folder count: most people who search take part."""
STOP = frozenset(
    """a an and are as at be by can did do does for from has have how i if in is it its me my of on or that the this to
    was we what when where which who why will with you your""".split()  # noqa: SIM905  # two lines that are read as a sentence
)
"""Words of questions that say nothing of what is looked for."""
MOST_IN_TEXT = 2
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


def search_words(query: str, *, most: int) -> list[str]:
    """Return the words of a query that are worth a search: of a question, those that say what it is about."""
    words = re.findall(r"[^\s?!,;]+", query)
    return ([word for word in words if word.lower() not in STOP] or words)[:most]


def doc_search(words: Sequence[str], *, limit: int) -> list[DocHit]:
    """Return the sections with all words, or else with the most of them, best first, few of each page."""
    wanted = [re.compile(rf"\b{re.escape(word.lower())}") for word in words]
    scored = [
        (_score(page, section, wanted), page, section) for page in doc_pages().values() for section in page.sections
    ]
    most = max((score[0] for score, _, _ in scored), default=0)
    scored = [found for found in scored if found[0][0] == most and most * 2 > len(words)]
    scored.sort(key=lambda found: -found[0][1])
    hits: list[DocHit] = []
    of_page: dict[str, int] = {}
    for _, page, section in scored:
        of_page[page.name] = of_page.get(page.name, 0) + 1
        if of_page[page.name] <= MOST_OF_A_PAGE and len(hits) < limit:
            hits.append(DocHit(page, section, _excerpt(section.text, wanted)))
    return hits


def _score(page: DocPage, section: Section, words: Sequence[re.Pattern[str]]) -> tuple[int, float]:
    """Return how many of the words a section has, and how well it fits."""
    title, heading, text = page.title.lower(), section.heading.title.lower(), section.text.lower()
    count, total = 0, 0.0
    for word in words:
        found: float = min(len(word.findall(text)), MOST_IN_TEXT) * IN_TEXT
        for place, weight in ((heading, IN_HEADING), (title, IN_TITLE)):
            # A word that is all of a heading says more of it than one of ten.
            if match := word.search(place):
                found += weight * (match.end() - match.start()) / len(place)
        count += found > 0
        total += found
    if all(word.search(heading) for word in words):
        total += IN_HEADING
    return count, total * FIRST.get(page.name.partition("/")[0], 1)


def _excerpt(text: str, words: Sequence[re.Pattern[str]]) -> str:
    """Return the part of a text around the first of the words, cut at spaces."""
    places = [match.start() for word in words if (match := word.search(text.lower()))]
    start = max(0, min(places, default=0) - EXCERPT // 3)
    if start:
        start = text.find(" ", start) + 1
    shown = text[start : start + EXCERPT]
    if start + EXCERPT < len(text):
        shown = shown.rpartition(" ")[0] + " …"
    return f"… {shown}" if start else shown
