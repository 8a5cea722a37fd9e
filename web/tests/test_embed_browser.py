"""A match in the frame of another site, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.tests import factories
from web.tests.arena import Stage, staged

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def stage(transactional_db: None, live_server: LiveServer, settings: Settings) -> Stage:
    settings.SITE_URL = live_server.url
    return staged(factories.cast(), factories.environment(), match_count=4)


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    troubles: list[str] = []
    with chromium.new_page() as page:
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        yield page
    assert troubles == []


def test_the_line_of_a_match_shows_it_in_the_frame_of_another_site(
    page: Page, stage: Stage, live_server: LiveServer, tmp_path: Path
) -> None:
    page.goto(f"{live_server.url}/duels/{stage.duel.pk}/matches/1/")
    line = page.locator("#embed").inner_text()
    address = re.search(r'src="([^"]+)"', line)
    assert address is not None
    other = tmp_path / "other.html"
    other.write_text(line.replace(address[1], f"{unescape(address[1])}#ply=2"))

    page.goto(other.as_uri())

    frame = page.frame_locator("iframe")
    expect(frame.locator("#count")).to_have_text(re.compile("^2 / "))
    frame.get_by_role("button", name="Forward").click()
    expect(frame.locator("#count")).to_have_text(re.compile("^3 / "))
    page.keyboard.press("Home")
    expect(frame.locator("#count")).to_have_text(re.compile("^0 / "))
    assert page.context.cookies() == []


def test_other_pages_are_shown_in_no_frame(stage: Stage, live_server: LiveServer, chromium: Browser) -> None:
    with chromium.new_page() as page:
        page.set_default_timeout(60_000)
        for path, is_shown in (("embed/duels", True), ("duels", False)):
            # Content counts as set once its frames have loaded.
            page.set_content(f'<iframe src="{live_server.url}/{path}/{stage.duel.pk}/matches/1/"></iframe>')
            seat = page.frame_locator("iframe").locator(".seats").get_by_text("anna v1")
            expect(seat).to_have_count(1 if is_shown else 0)
