"""A replay as a file, in a real browser without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.environment.replay_file.page import replay_page
from arena_kit.tests.environment.outside import spec_of
from arena_kit.tests.environment.playing import match_record

pytestmark = pytest.mark.browser
SPEC = get_spec("connect-four")
RECORD = match_record(SPEC, 2, seed=3)
LAST = len(RECORD.actions)
NAME = "</script><img src=x onerror=alert(1)>\"' \u202eanna"
FACTS = ReplayFacts("x", (ReplayAgent("7", NAME), ReplayAgent("9", "berta v2")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replays")
    whole = replay_page(SPEC, RECORD, FACTS)
    (folder / "whole.html").write_text(whole, encoding="utf-8")
    (folder / "thin.html").write_text(replay_page(SPEC, RECORD, FACTS, max_bytes=len(whole) * 2 // 3), encoding="utf-8")
    return folder


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page without a network, of a person who wants no motion; with an empty console and no request."""
    troubles: list[str] = []
    asked: list[str] = []
    with chromium.new_context(offline=True, reduced_motion="reduce") as context, context.new_page() as page:
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.clock.install()
        page.clock.pause_at("2030-01-01T00:00:00")
        yield page
    assert troubles == []
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []


def at(page: Page, ply: int) -> None:
    """The whole page shows this state."""
    expect(page.locator("#count")).to_have_text(f"{ply} / {LAST}")
    current = page.locator("#moves [aria-current]")
    expect(current).to_have_count(1)
    expect(current).to_have_attribute("href", f"#ply={ply}")
    expect(page.locator("#caption")).to_have_text(current.locator("span:last-child").inner_text())


def test_keys_buttons_and_slider_step_through_a_file(page: Page, folder: Path) -> None:
    page.goto((folder / "whole.html").as_uri())
    at(page, 0)
    start = page.locator("#frame").get_attribute("src")
    text = page.locator("#text").inner_text()
    for key, ply in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", LAST), ("Home", 0)):
        page.keyboard.press(key)
        at(page, ply)
        expect(page).to_have_url(re.compile(rf"#ply={ply}$"))
    assert page.locator("#frame").get_attribute("src") == start
    page.get_by_role("button", name="Forward").click()
    at(page, 1)
    page.get_by_label("Position in the match").fill("4")
    at(page, 4)
    expect(page.locator("#text")).not_to_have_text(text)
    expect(page.locator("#text")).to_have_attribute("aria-live", "polite")
    assert page.locator("#frame").evaluate("image => image.naturalWidth") > 0


@pytest.mark.nightly
def test_a_file_plays_at_three_speeds(page: Page, folder: Path) -> None:
    page.goto((folder / "whole.html").as_uri())
    for speed, milliseconds in (("0.5×", 1800), ("1×", 900), ("2×", 450)):
        page.keyboard.press("Home")
        page.get_by_role("radio", name=speed).check()
        page.get_by_role("button", name="Play").click()
        page.clock.run_for(milliseconds + 50)
        at(page, 1)
        page.get_by_role("button", name="Pause").click()
        page.locator("#text").focus()
    page.keyboard.press("Space")
    page.clock.run_for(450 * LAST)
    at(page, LAST)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_an_address_leads_to_a_ply(page: Page, folder: Path) -> None:
    for address in ("#ply=3", "?ply=3", "?ply=99#ply=3"):
        page.goto("about:blank")
        page.goto((folder / "whole.html").as_uri() + address)
        at(page, 3)
        page.evaluate("location.hash = 'ply=5'")
        at(page, 5)


@pytest.mark.nightly
def test_an_address_that_leads_nowhere_leads_to_the_start(page: Page, folder: Path) -> None:
    for address in ("#ply=x", "#ply=-1", "#3", "?ply=", "#%"):
        page.goto("about:blank")
        page.goto((folder / "whole.html").as_uri() + address)
        at(page, 0)


@pytest.mark.nightly
def test_a_thinned_file_says_so_and_shows_the_state_before_a_missing_one(page: Page, folder: Path) -> None:
    page.goto((folder / "thin.html").as_uri() + "#ply=1")
    expect(page.get_by_role("note")).to_contain_text(f"of the {LAST + 1} states")
    at(page, 0)
    page.keyboard.press("End")
    at(page, LAST)


@pytest.mark.nightly
def test_focus_is_seen_and_nothing_is_wider_than_a_phone(page: Page, folder: Path) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto((folder / "whole.html").as_uri())
    page.keyboard.press("Tab")
    focused = "getComputedStyle(document.activeElement).outlineStyle"
    for _ in range(6):
        assert page.evaluate(focused) == "solid"
        page.keyboard.press("Tab")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_scripts_the_start_and_all_moves_are_there(folder: Path, chromium: Browser) -> None:
    with chromium.new_context(offline=True, java_script_enabled=False) as context, context.new_page() as page:
        page.goto((folder / "whole.html").as_uri())
        expect(page.locator("#frame")).to_be_visible()
        expect(page.locator("#moves a")).to_have_count(LAST + 1)
        expect(page.locator("#moves a").last).to_contain_text("wins")


def test_a_file_of_a_classic_environment_shows_what_the_environment_draws(page: Page, tmp_path: Path) -> None:
    spec = spec_of("classic_nim", action_count=3)
    record = match_record(spec, 2, seed=3)
    (tmp_path / "classic.html").write_text(replay_page(spec, record, FACTS), encoding="utf-8")
    page.goto((tmp_path / "classic.html").as_uri())
    # Locators look into the shadow root.
    expect(page.locator("#board .stone")).to_have_count(10)
    expect(page.locator("#frame")).to_be_hidden()
    colour = page.locator("#board .stone").first.evaluate("stone => getComputedStyle(stone).backgroundColor")
    assert colour == "rgb(47, 111, 237)"
    page.keyboard.press("End")
    expect(page.locator("#board .stone")).to_have_count(0)
    expect(page.locator("#text")).to_contain_text("0")
