"""A person at the board in a real browser: by pointer, keys, and without JavaScript. The test moves for the agent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.models import Opponents, Sitting, SittingMove
from core.sittings.services import opponents_set
from core.tests import factories
from web.tests.tabs import used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def game(transactional_db: None, request: pytest.FixtureRequest) -> str:
    """Return the address of an agent of a game that is open to everyone."""
    environment = factories.environment(getattr(request, "param", "connect-four"))
    row = factories.ready(factories.agent(factories.user("ann"), environment, "anna"))
    opponents_set(agent=row.agent, opponents=Opponents.EVERYONE)
    return f"/environments/{environment.slug}/agents/anna/"


@pytest.fixture
def page(game: str, live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    with chromium.new_page(base_url=live_server.url) as tab, used(tab) as page:
        yield page


def sit_down(page: Page, game: str) -> None:
    """Begin a match as strangers do: from the page of the agent, which all of them share, by its invitation."""
    page.goto(game)
    page.locator("#sit .button").click()
    page.get_by_role("button", name="Play anna").click()


def answer(step: int, action: int) -> None:
    SittingMove.objects.create(sitting=Sitting.objects.get(), step=step, seat=1, action=action)


def test_a_click_and_a_key_move_and_the_focus_stays_at_the_board(page: Page, game: str) -> None:
    sit_down(page, game)
    expect(page.locator(".turn")).to_have_text("Your turn.")
    expect(page.locator("#seat")).to_be_focused()
    page.locator(".on-board button").nth(3).click()
    expect(page.locator(".turn")).to_have_text("anna v1 is to move.")
    expect(page.locator("#announcer")).to_have_text("anna v1 is to move.")
    answer(1, 3)
    # The page asks by itself.
    expect(page.locator(".turn")).to_have_text("anna v1 played column 3. Your turn.")
    page.keyboard.press("2")
    expect(page.locator(".made li")).to_have_count(3)
    assert [move.action for move in SittingMove.objects.filter(seat=0)] == [3, 2]


def test_the_list_of_opponents_keeps_its_buttons_on_a_line(page: Page) -> None:
    page.goto("/play/")
    for width in (1280, 600, 390):
        page.set_viewport_size({"width": width, "height": 844})
        box = page.locator(".game .rows button").bounding_box()
        assert box is not None
        assert box["width"] > box["height"], width


@pytest.mark.parametrize("game", ["quarto"], indirect=True)
def test_two_decisions_are_made_one_after_the_other(page: Page, game: str) -> None:
    sit_down(page, game)
    expect(page.locator(".request")).to_contain_text("Choose a cell for the piece in hand")
    page.locator(".on-board a").nth(5).click()
    expect(page.locator(".chosen-first")).to_contain_text("Cell b2")
    expect(page.locator(".request")).to_have_text("Choose the piece that anna v1 must place.")
    # Another cell may be chosen instead, in the picture or by its key after the choice is taken back.
    page.get_by_role("link", name="Choose again").click()
    expect(page.locator(".chosen-first")).to_have_count(0)
    expect(page.locator("#seat")).to_be_focused()
    page.keyboard.press("d")
    expect(page.locator(".chosen-first")).to_contain_text("Cell c3")
    page.get_by_role("button", name="small light solid square").click()
    expect(page.locator(".made li")).to_have_count(1)
    assert SittingMove.objects.get().action == 16 * 10


@pytest.mark.parametrize("game", ["pong"], indirect=True)
def test_a_held_key_counts_in_real_time_and_none_is_at_rest(page: Page, game: str) -> None:
    sit_down(page, game)
    # The agent's answers are there before the person's, as from a worker that is quick.
    for step in range(200):
        answer(step, 1)
    # Without real time a choice is played once, and a choice of steps by the pointer leaves the keys to the board.
    page.get_by_text("10", exact=True).click()
    expect(page.locator("#seat")).to_be_focused()
    page.get_by_label("Real time").check()
    page.keyboard.down("ArrowDown")
    page.locator(".made li").nth(4).wait_for()
    page.keyboard.up("ArrowDown")
    page.locator(".made li").nth(page.locator(".made li").count() + 2).wait_for()
    page.get_by_label("Real time").uncheck()
    chosen = list(SittingMove.objects.filter(seat=0).order_by("step").values_list("action", flat=True))
    assert 2 in chosen
    assert chosen[-1] == 1
    # One step at a time, in order and without a gap.
    assert list(SittingMove.objects.filter(seat=0).values_list("step", flat=True)) == list(range(len(chosen)))


def test_forms_are_enough_without_javascript(game: str, live_server: LiveServer, chromium: Browser) -> None:
    with chromium.new_context(base_url=live_server.url, java_script_enabled=False) as context:
        page = context.new_page()
        sit_down(page, game)
        page.locator(".on-board button").nth(0).click()
        answer(1, 6)
        page.get_by_role("link", name="Look again").click()
        page.get_by_role("button", name="Column 0").click()
        expect(page.locator(".made li")).to_have_count(3)
