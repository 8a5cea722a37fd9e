"""Every page as people with other eyes and hands meet it: axe-core finds nothing, and nothing is wider than the screen.

320 pixels are also what a screen of 1,280 shows at four times the size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from core.tests import factories
from core.tests.factories import Cast
from web.tests.house import furnished
from web.tests.tabs import session, used
from web.tests.test_access import PEOPLE, lines
from web.tests.test_attachments import FILES, SHOWN, TEXTS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
Look = tuple[int, Literal["light", "dark"]]
"""Width in pixels and colour scheme."""
EVERY_LOOK: list[Look] = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"), (320, "light"), (320, "dark")]
NO_PAGES = {*FILES, *SHOWN, *TEXTS}
"""Files, and what programs read."""
EVERY_PUSH = [
    "/",
    "/environments/{slug}/",
    "/environments/{slug}/agents/{agent}/",
    "/duels/{duel}/",
    "/duels/{duel}/matches/3/",
    "/submit/",
    "/docs/quickstart/",
]
OPTIONS = {"resultTypes": ["violations"]}
WIDTH = """
new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => document.documentElement.scrollWidth)
"""
"""The width that a page needs, once its charts have been drawn anew for another window."""


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return factories.cast()


@pytest.fixture
def house(cast: Cast) -> dict[str, Any]:
    return furnished(cast)


def pages_of(who: str) -> list[str]:
    """Addresses, with braces, of the pages that a person is shown; of those that the owner is shown too, none."""
    pages = [(address, statuses) for method, address, statuses in lines() if method == "GET" and is_page(address)]
    seat, owner = PEOPLE.index(who), PEOPLE.index("owner")
    return [address for address, asked in pages if asked[seat] == 200 and (seat == owner or asked[owner] != 200)]


def is_page(address: str) -> bool:
    return address not in NO_PAGES and not address.startswith("/api/")


def faults(page: Page, addresses: Iterable[str], looks: Sequence[Look]) -> list[str]:
    """What is wrong with pages, each look in turn."""
    axe, found = Axe(), []
    for address in addresses:
        answer = page.goto(address)
        # A part that a page fetches, or what programs read.
        if answer is None or not answer.text().lstrip().lower().startswith("<!doctype html"):
            continue
        for width, scheme in looks:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            here = f"{address} at {width} px, {scheme}"
            if (needed := page.evaluate(WIDTH)) > width:
                found.append(f"{here}: {needed} px wide")
            broken = axe.run(page, options=OPTIONS).response["violations"]
            found += [f"{here}: {rule['help']}: {[node['html'] for node in rule['nodes']]}" for rule in broken]
    return found


def test_the_main_pages_have_no_fault(house: dict[str, Any], cast: Cast, tab: Page) -> None:
    with used(tab, session(cast.alice)) as page:
        assert faults(page, [address.format(**house) for address in EVERY_PUSH], [(320, "dark")]) == []
        page.set_content("<title>A page</title><img src='data:,'>")
        assert Axe().run(page, options=OPTIONS).response["violations"], "axe finds nothing at all"


@pytest.mark.nightly
@pytest.mark.parametrize("who", ["anonymous", "owner", "staff"])
def test_no_page_has_a_fault_in_any_look(house: dict[str, Any], cast: Cast, tab: Page, who: str) -> None:
    person = {"anonymous": None, "owner": cast.alice, "staff": cast.olga}[who]
    addresses = pages_of(who)
    assert addresses
    with used(tab, session(person) if person else "") as page:
        assert faults(page, [address.format(**house) for address in addresses], EVERY_LOOK) == []
