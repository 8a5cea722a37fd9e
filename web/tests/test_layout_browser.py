"""Parts of pages, as a real browser lays them out."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from arena_kit.ranking.formats import RoundRobin
from core.models import NoticeKind
from core.notices.services import notify
from core.tests import factories
from tests.tournaments import entered, organised
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_titles_of_the_parts_of_a_tournament_stand_above_them(tab: Page, width: int) -> None:
    environment = factories.environment()
    cup = organised(RoundRobin(), entered(environment, factories.user("anna"), ["x", "y", "z"]))
    with used(tab) as page:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"/environments/{environment.slug}/editions/{cup.edition}/")
        below = "part => part.children[1].getBoundingClientRect().top - part.children[0].getBoundingClientRect().bottom"
        parts = page.locator("section.panel[aria-labelledby]:not(.state-of)").all()
        assert parts
        assert all(part.evaluate(below) >= 0 for part in parts)


def test_long_notices_stay_within_the_home_page(tab: Page) -> None:
    anna = factories.user("anna")
    factories.ready(factories.agent(anna, factories.environment(), "player"))
    notify(user=anna, kind=NoticeKind.TOURNAMENT_ENDED, title="A long word and another " * 5, text="", address="/")
    with used(tab, session(anna)) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto("/")
        assert page.get_by_text("A long word").count()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
