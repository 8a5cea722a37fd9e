"""The HTML of a classic environment in a real browser: its own styles, apart from the page, and nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from arena_kit.environment.adapters.classic.info import Facts
from arena_kit.environment.outside import trial
from arena_kit.environment.outside.trial import TrialResult
from arena_kit.tests.environment.outside import copied, outside
from core.tests import factories
from web.tests.arena import Stage, staged

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def stage(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    facts = Facts((43,), "int64", "int64", 7, 1.0)
    monkeypatch.setattr(trial, "verdict_on", lambda path, store, again: TrialResult("", facts))
    copied("classic_connect_four", tmp_path)
    # The server of tests answers 404 itself for what is not a static file of the site, where others ask the view.
    is_static = StaticFilesHandler._should_handle
    monkeypatch.setattr(
        StaticFilesHandler, "_should_handle", lambda self, path: "classic-" not in path and is_static(self, path)
    )
    with outside(tmp_path, monkeypatch):
        yield staged(factories.cast(), factories.environment("classic-connect-four"), 6)


@pytest.fixture
def page(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    troubles: list[str] = []
    with chromium.new_page(base_url=live_server.url) as page:
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda message: (
                troubles.append(f"{message.text} {message.location['url']}") if message.type == "error" else None
            ),
        )
        yield page
    assert troubles == []


def test_the_board_is_drawn_with_its_own_styles_and_its_scripts_never_run(page: Page, stage: Stage) -> None:
    page.goto(f"/duels/{stage.duel.pk}/matches/1/?ply=1")
    board = page.locator("#board")
    expect(board).to_be_visible()
    expect(page.locator("#frame")).to_be_hidden()
    cell = board.locator("td.first").first
    expect(cell).to_have_css("background-color", "rgb(240, 200, 40)")
    expect(board.locator("table")).to_have_css("margin-top", "8px")
    page.keyboard.press("ArrowRight")
    expect(board.locator("td.second")).to_have_count(1)
    cell.click()
    assert "Match 1" in page.title()
    expect(page.locator("#text")).to_contain_text('"player": 1')
