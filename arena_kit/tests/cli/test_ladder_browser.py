"""The report of a ladder, in a real browser without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from arena_kit.cli.ladder_ranking import ranked
from arena_kit.cli.ladder_replays import shown_matches
from arena_kit.cli.ladder_report import report_html
from arena_kit.environment.records import DuelRecord
from arena_kit.environment.registry import get_spec
from arena_kit.tests.environment.playing import match_record

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
SPEC = get_spec("connect-four")
NAMES = ("anna", "berta\"'<img src=x onerror=alert(1)>", "clara")
PAIRS = ((NAMES[0], NAMES[1]), (NAMES[0], NAMES[2]), (NAMES[1], NAMES[2]))
RECORDS = [
    DuelRecord(SPEC.id, 1, pair, tuple(match_record(SPEC, number, seed=turn + number) for number in range(1, 9)))
    for turn, pair in enumerate(PAIRS)
]
ROWS = ranked(NAMES, RECORDS)
SHOWN = shown_matches([row.name for row in ROWS], RECORDS)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ladder") / "ladder.html"
    path.write_text(report_html(SPEC, ROWS, RECORDS), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(chromium: Browser, report: str) -> Iterator[Page]:
    """The report without a network; with an empty console and no request at the end."""
    troubles: list[str] = []
    asked: list[str] = []
    with chromium.new_context(offline=True, reduced_motion="reduce") as context, context.new_page() as page:
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.clock.install()
        page.clock.pause_at("2030-01-01T00:00:00")
        page.goto(report)
        yield page
    assert troubles == []
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []


def at(page: Page, number: int, ply: int) -> None:
    """The page shows this state of the match with this number in the report."""
    one = SHOWN[number - 1]
    expect(page.locator("#stage h2").first).to_have_text(
        f"{' against '.join(one.record.players)}, match {one.match.number}"
    )
    expect(page.locator("#match")).to_have_value(str(number))
    expect(page.locator("#count")).to_have_text(f"{ply} / {len(one.match.actions)}")
    expect(page.locator("#moves [aria-current]")).to_have_attribute("href", f"#match={number}&ply={ply}")
    assert page.locator("#frame").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_keys_step_through_the_first_match_at_once(page: Page) -> None:
    at(page, 1, 0)
    last = len(SHOWN[0].match.actions)
    for key, ply in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last), ("Home", 0)):
        page.keyboard.press(key)
        at(page, 1, ply)
    page.keyboard.press("Space")
    page.clock.run_for(1000)
    at(page, 1, 1)


def test_the_list_leads_to_every_match_and_keeps_the_focus(page: Page) -> None:
    picker = page.get_by_label("Match", exact=True)
    expect(picker.locator("option")).to_have_count(len(SHOWN))
    picker.focus()
    for number in (len(SHOWN), 2, 1):
        picker.select_option(str(number))
        at(page, number, 0)
        expect(picker).to_be_focused()
    picker.select_option("2")
    page.get_by_role("button", name="Forward").click()
    at(page, 2, 1)


@pytest.mark.nightly
def test_a_link_of_the_cross_table_leads_to_a_replay_and_its_keys(page: Page) -> None:
    number = next(one.number for one in SHOWN if one.record is RECORDS[2])
    page.locator(f'a[href="#match={number}"]').first.click()
    at(page, number, 0)
    expect(page.locator("#stage h2").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    at(page, number, 1)
    expect(page).to_have_url(re.compile(rf"#match={number}&ply=1$"))
    page.go_back()
    at(page, 1, 0)


@pytest.mark.nightly
def test_a_match_that_plays_stops_when_another_is_chosen(page: Page) -> None:
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1000)
    at(page, 1, 1)
    page.get_by_label("Match", exact=True).select_option("2")
    at(page, 2, 0)
    page.clock.run_for(5000)
    at(page, 2, 0)


@pytest.mark.nightly
def test_an_address_leads_to_a_match_and_a_ply(page: Page, report: str) -> None:
    for address, number, ply in (("#match=2&ply=3", 2, 3), ("#match=99", 1, 0), ("#match=x", 1, 0)):
        page.goto("about:blank")
        page.goto(report + address)
        at(page, number, ply)


@pytest.mark.nightly
def test_nothing_is_wider_than_a_phone_and_focus_is_seen(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Tab")
    for _ in range(12):
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Tab")


@pytest.mark.nightly
def test_without_scripts_the_tables_stay_and_a_sentence_says_what_is_missing(report: str, chromium: Browser) -> None:
    with chromium.new_context(offline=True, java_script_enabled=False) as context, context.new_page() as page:
        page.goto(report)
        expect(page.locator("table")).to_have_count(2)
        expect(page.get_by_text("allow this file to run JavaScript")).to_be_visible()
