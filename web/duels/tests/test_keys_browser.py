"""The list of keys in a real browser: opened by a button and by `?`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from core.tests import factories
from web.tests.arena import Stage, staged
from web.tests.tabs import used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    return staged(factories.cast(), factories.environment())


@pytest.fixture
def page(stage: Stage, tab: Page) -> Iterator[Page]:
    with used(tab) as page:
        yield page


def test_the_keys_of_the_viewer_are_listed_by_a_button_and_by_a_question_mark(page: Page, stage: Stage) -> None:
    page.goto(f"/duels/{stage.duel.pk}/matches/1/?ply=2")
    slider = page.locator("#slider")
    expect(slider).to_have_value("2")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_hidden()
    page.keyboard.press("?")
    expect(keys).to_be_visible()
    assert "Play or pause" in keys.inner_text()
    found = Axe().run(page, "dialog").response["violations"]
    assert [one["id"] for one in found] == []
    # Nothing moves behind it.
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("2")
    page.keyboard.press("?")
    expect(keys).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("3")

    button = page.get_by_role("button", name="Keys")
    button.focus()
    page.keyboard.press("Enter")
    expect(keys.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    expect(button).to_be_focused()

    # A click beside it closes it; one at its edge, beside the words, does not.
    button.click()
    box = keys.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 4, box["y"] + 4)
    expect(keys).to_be_visible()
    page.mouse.click(box["x"] - 4, box["y"] + 4)
    expect(keys).to_be_hidden()


def test_a_question_mark_in_a_field_is_a_question_mark(page: Page, stage: Stage) -> None:
    page.goto(f"/duels/{stage.duel.pk}/")
    keys = page.get_by_role("dialog", name="Keys")
    page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<input id=\"typed\">')")
    page.locator("#typed").press("?")
    expect(page.locator("#typed")).to_have_value("?")
    expect(keys).to_be_hidden()
    page.locator("#typed").evaluate("field => field.blur()")
    page.keyboard.press("?")
    expect(keys).to_be_visible()
    assert "From match to match" in keys.inner_text()
