"""The frame of every page on the smallest phones, in a real browser: nothing runs over the edge, all is reached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from core.tests import factories
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def cookie(transactional_db: None) -> str:
    environment = factories.environment()
    organiser = factories.user("organiser-of-everything", is_staff=True)
    factories.ready(factories.agent(organiser, environment, "mine"))
    factories.rating(factories.ready(factories.agent(factories.user("bob"), environment, "theirs")))
    return session(organiser)


@pytest.fixture
def page(cookie: str, tab: Page) -> Iterator[Page]:
    tab.set_viewport_size({"width": 320, "height": 600})
    # A refused form is an answer that a browser complains of.
    with used(tab, cookie, complains=True) as page:
        yield page


@pytest.mark.nightly
def test_an_organiser_reaches_all_links_of_the_head_and_sees_which_tab_is_open(page: Page) -> None:
    page.goto("/environments/tic-tac-toe/tournaments/")
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    tabs = page.get_by_role("navigation", name="Tic-tac-toe")
    box = tabs.bounding_box()
    assert box is not None
    assert box["height"] < 60
    expect(tabs.get_by_role("link", name="Tournaments")).to_be_in_viewport(ratio=1)
    expect(tabs.get_by_role("link", name="Leaderboard")).not_to_be_in_viewport()
    tabs.get_by_role("link", name="Leaderboard").focus()
    expect(tabs.get_by_role("link", name="Leaderboard")).to_be_in_viewport()

    log_out = page.get_by_role("button", name="Log out")
    expect(log_out).to_be_hidden()
    page.get_by_role("button", name="Menu of organiser-of-everything").press("Enter")
    expect(log_out).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(log_out).to_be_hidden()
    page.get_by_role("button", name="Menu of organiser-of-everything").press("Enter")
    # Five places first, then what belongs to the account: the page, courses, the profile, Organise, Admin.
    for _ in range(10):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/admin/")

    # Where there is room the places are on the line, and the menu holds the account alone.
    page.goto("/")
    page.set_viewport_size({"width": 1000, "height": 600})
    places = page.get_by_role("navigation", name="Site")
    expect(places.get_by_role("link", name="Tournaments")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Menu of organiser-of-everything").press("Enter")
    menu = page.locator("#menu").bounding_box()
    assert menu is not None
    assert menu["y"] < 100
    assert menu["x"] > 500
    expect(log_out).to_be_in_viewport(ratio=1)
    expect(page.locator("#menu").get_by_role("link", name="Tournaments")).to_be_hidden()


@pytest.mark.nightly
def test_a_stranger_reaches_all_of_the_head_on_the_smallest_phone(page: Page) -> None:
    page.context.clear_cookies()
    for address in ("/", "/environments/tic-tac-toe/", "/sign-up/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        expect(page.get_by_role("navigation").get_by_role("link", name="Sign up")).to_be_in_viewport(ratio=1)
        page.get_by_role("button", name="Menu").press("Enter")
        for place in ("Environments", "Docs", "Search", "Log in"):
            expect(page.locator("#menu").get_by_role("link", name=place)).to_be_in_viewport(ratio=1)


def test_a_refused_challenge_is_in_sight_with_what_was_typed(page: Page) -> None:
    page.goto("/environments/tic-tac-toe/agents/mine/")
    page.get_by_label("Opponent").fill("deep")
    page.get_by_role("button", name="Challenge", exact=True).click()
    expect(page.get_by_text("There is no agent “deep” here.")).to_be_in_viewport()
    expect(page.get_by_label("Opponent")).to_be_focused()
    expect(page.get_by_label("Opponent")).to_have_value("deep")
