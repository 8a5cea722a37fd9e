"""A match in the frame of another site, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.tests import factories
from web.tests.arena import Stage, staged

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


class News(SimpleHTTPRequestHandler):
    """Another site, at another origin than the live server's: its one page holds the line `body`."""

    body = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def news() -> Iterator[str]:
    """Address of the other site. Browsers frame nothing of this machine in pages that they take for the internet's."""
    with ThreadingHTTPServer(("127.0.0.1", 0), News) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


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


def framed(page: Page, news: str, line: str) -> FrameLocator:
    """Open the page of the other site with this line in it; return its frame."""
    News.body = line
    page.goto(news)
    return page.frame_locator("iframe")


@pytest.mark.nightly
def test_the_line_of_a_match_shows_it_in_the_frame_of_another_site(
    page: Page, stage: Stage, live_server: LiveServer, news: str
) -> None:
    page.goto(f"{live_server.url}/duels/{stage.duel.pk}/matches/1/")
    line = page.locator("#embed").inner_text()
    address = re.search(r'src="([^"]+)"', line)
    assert address is not None

    frame = framed(page, news, line.replace(address[1], f"{address[1]}#ply=2"))

    expect(frame.locator("#count")).to_have_text(re.compile("^2 / "))
    frame.get_by_role("button", name="Forward").click()
    expect(frame.locator("#count")).to_have_text(re.compile("^3 / "))
    page.keyboard.press("Home")
    expect(frame.locator("#count")).to_have_text(re.compile("^0 / "))
    assert page.context.cookies() == []


@pytest.mark.nightly
def test_other_pages_are_shown_in_no_frame(stage: Stage, live_server: LiveServer, chromium: Browser, news: str) -> None:
    with chromium.new_page() as page:
        page.set_default_timeout(60_000)
        for path, count in (("embed/duels", 1), ("duels", 0)):
            # A page has been opened once its frames have.
            frame = framed(page, news, f'<iframe src="{live_server.url}/{path}/{stage.duel.pk}/matches/1/"></iframe>')
            expect(frame.locator(".seats").get_by_text("anna v1")).to_have_count(count)
