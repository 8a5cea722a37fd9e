"""The viewer and the list of matches in a real browser, by keyboard and by pointer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.duels.analyses import analysis_request
from core.jobs.worker import Performed, step
from core.tests import factories
from core.tests.factories import NOON
from web.tests.arena import Stage, damage_match, staged
from web.tests.tabs import used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    return staged(factories.cast(), factories.environment())


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    """Its clock stands still until a test moves it."""
    with chromium.new_page(base_url=live_server.url) as page:
        page.clock.install(time=NOON)
        page.clock.pause_at(NOON + timedelta(seconds=1))
        yield page


@pytest.fixture
def page(stage: Stage, tab: Page) -> Iterator[Page]:
    with used(tab) as page:
        yield page


def watch(page: Page, stage: Stage, query: str = "?ply=0", number: int = 1) -> int:
    """Open a match at a state, where it stands still; return the position of its last state."""
    page.goto(f"/duels/{stage.duel.pk}/matches/{number}/{query}")
    slider = page.locator("#slider")
    expect(slider).to_be_visible()
    return int(slider.get_attribute("max") or 0)


def at(page: Page, position: int) -> None:
    """The whole page shows this state."""
    expect(page.locator("#slider")).to_have_value(str(position))
    expect(page.locator("#count")).to_have_text(re.compile(f"^{position} / "))
    current = page.locator("#moves [aria-current]")
    expect(current).to_have_count(1)
    expect(current).to_have_attribute("href", f"?ply={position}")
    expect(page.locator("#caption")).to_have_text(current.locator("span:last-child").inner_text())


def test_keys_step_jump_and_play(page: Page, stage: Stage) -> None:
    last = watch(page, stage)
    at(page, 0)
    start = page.locator("#frame").get_attribute("src")
    for key, position in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last), ("Home", 0)):
        page.keyboard.press(key)
        at(page, position)
    page.keyboard.press("ArrowLeft")
    at(page, 0)
    assert page.locator("#frame").get_attribute("src") == start

    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.clock.run_for(900)
    at(page, 1)
    page.keyboard.press("Space")
    page.clock.run_for(9000)
    at(page, 1)


def test_a_match_plays_by_itself_until_it_is_paused(page: Page, stage: Stage) -> None:
    damage_match(stage.duel, 1, opening_count=2)
    watch(page, stage, "")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    at(page, 2)
    # Moves that a person has not asked for are not read out, and the address stays that of the match.
    expect(page.locator("#caption")).to_have_attribute("aria-live", "polite")
    page.clock.run_for(1800)
    at(page, 4)
    expect(page.locator("#caption")).to_have_attribute("aria-live", "off")
    expect(page).to_have_url(re.compile(r"/matches/1/$"))
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(9000)
    at(page, 4)
    expect(page).to_have_url(re.compile(r"\?ply=4$"))


def test_people_who_want_no_motion_start_a_match_themselves(page: Page, stage: Stage) -> None:
    page.emulate_media(reduced_motion="reduce")
    watch(page, stage, "")
    page.clock.run_for(9000)
    at(page, 0)
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(900)
    at(page, 1)
    page.emulate_media(reduced_motion="no-preference")


@pytest.mark.nightly
def test_playing_ends_at_the_last_state_and_starts_again_from_the_first(page: Page, stage: Stage) -> None:
    last = watch(page, stage, "?ply=3")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(900 * last)
    at(page, last)
    page.get_by_role("button", name="Play").click()
    at(page, 0)


@pytest.mark.nightly
def test_speed_changes_how_long_a_state_stays(page: Page, stage: Stage) -> None:
    watch(page, stage)
    for speed, milliseconds in (("0.5×", 1800), ("2×", 450)):
        page.get_by_role("radio", name=speed).check()
        page.get_by_role("button", name="Play").click()
        page.clock.run_for(milliseconds - 50)
        at(page, 0)
        page.clock.run_for(100)
        at(page, 1)
        page.get_by_role("button", name="First").click()
        at(page, 0)


@pytest.mark.nightly
def test_slider_buttons_and_moves_lead_to_any_state(page: Page, stage: Stage) -> None:
    last = watch(page, stage)
    page.locator("#slider").fill("3")
    at(page, 3)
    page.get_by_role("button", name="Last").click()
    at(page, last)
    page.get_by_role("button", name="Back").click()
    at(page, last - 1)
    page.get_by_role("button", name="First").click()
    at(page, 0)
    page.locator("#moves a").nth(4).click()
    at(page, 4)


@pytest.mark.nightly
def test_what_is_seen_can_be_shared_and_read(page: Page, stage: Stage) -> None:
    watch(page, stage, "?ply=2")
    at(page, 2)
    before = page.locator("#text").inner_text()

    page.keyboard.press("ArrowRight")

    expect(page).to_have_url(re.compile(r"\?ply=3$"))
    expect(page.locator("#text")).not_to_have_text(before)
    expect(page.locator("#text")).to_have_attribute("aria-live", "polite")
    expect(page.locator("#slider")).to_have_attribute("aria-valuetext", re.compile("^3: .* played"))


@pytest.mark.nightly
def test_keys_keep_their_meaning_in_controls(page: Page, stage: Stage) -> None:
    watch(page, stage)
    page.get_by_role("radio", name="1×").focus()
    page.keyboard.press("ArrowRight")
    at(page, 0)
    expect(page.get_by_role("radio", name="2×")).to_be_checked()
    page.get_by_role("button", name="Forward").focus()
    page.keyboard.press("Space")
    at(page, 1)
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    at(page, 2)


@pytest.mark.nightly
def test_a_match_that_cannot_be_fetched_keeps_its_links(page: Page, stage: Stage) -> None:
    page.route("**/frames.json", lambda route: route.fulfill(json={"error": "The disk is gone."}))

    page.goto(f"/duels/{stage.duel.pk}/matches/1/")

    expect(page.locator("#caption")).to_contain_text("The disk is gone.")
    page.get_by_role("link", name="Forward").click()
    expect(page).to_have_url(re.compile(r"\?ply=1$"))


def test_without_scripts_links_step_through_the_match(stage: Stage, live_server: LiveServer, chromium: Browser) -> None:
    with chromium.new_page(java_script_enabled=False) as page:
        page.goto(f"{live_server.url}/duels/{stage.duel.pk}/matches/1/")
        page.get_by_role("link", name="Forward").click()
        expect(page.locator("#count")).to_have_text(re.compile("^1 / "))
        expect(page.locator("#caption")).to_contain_text("anna v1 played")


@pytest.mark.nightly
def test_arrow_keys_walk_through_the_matches_of_a_duel(page: Page, stage: Stage) -> None:
    page.goto(f"/duels/{stage.duel.pk}/")
    links = page.locator(".matches.player_1 a")
    links.first.focus()

    page.keyboard.press("ArrowRight")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(links.last).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(links.last).to_be_focused()
    page.keyboard.press("Home")
    expect(links.first).to_be_focused()
    expect(page.locator(".matches.player_1 a[tabindex='0']")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/matches/\d+/$"))


@pytest.mark.nightly
def test_a_long_match_of_two_moves_a_step_plays_in_about_a_minute(
    live_server: LiveServer, chromium: Browser, transactional_db: None
) -> None:
    stage = staged(factories.cast(), factories.environment("pong"), 2)
    with chromium.new_page(base_url=live_server.url) as page:
        page.clock.install(time=NOON)
        page.clock.pause_at(NOON + timedelta(seconds=1))
        last = watch(page, stage)
        at(page, 0)
        assert last > 250
        expect(page.locator("#moves li:nth-child(2) .disc")).to_have_count(2)
        page.keyboard.press("Space")
        page.clock.run_for(20_000)
        page.keyboard.press("Space")
        position = int(page.locator("#slider").input_value())
        assert last / 5 < position < last / 2
        at(page, position)
        # Pictures are decoded as they are needed, also after a jump.
        page.keyboard.press("End")
        at(page, last)
        expect(page.locator("#frame")).to_have_attribute("src", re.compile("Pong(%20| )court"))


def test_the_analysis_follows_the_state_in_view_and_leads_to_others(page: Page, stage: Stage) -> None:
    analysis_request(user=stage.anna.agent.owner, played=stage.duel, number=1)
    assert step("duel") is Performed.DONE
    last = watch(page, stage)
    remark, here = page.locator("#remark"), page.locator("#analysis .here")
    expect(remark).to_have_text("With perfect play this is a draw.")

    page.keyboard.press("End")

    at(page, last)
    expect(remark).to_have_text(re.compile(r"has won\.$|^Draw\.$"))
    # The bar stands at the end, and the slider has a mark for every mistake in the list of moves.
    share = {"a": "100", "b": "0", "D": "50"}[remark.inner_text()[0]]
    expect(page.locator(".value .one")).to_have_attribute("height", share)
    expect(page.locator(".track line")).to_have_count(page.locator("#moves .mark").count())
    expect(here).to_have_attribute("x1", re.compile("^6(39|40)"))
    # The bar of the last move is marked, and a slow move leads to its state.
    expect(page.locator("#time-here")).to_have_attribute("x", re.compile("^5[0-9]{2}"))
    slow = page.locator("#times a[data-ply]").first
    ply = int(slow.get_attribute("data-ply") or 0)
    slow.click()
    at(page, ply)
    page.locator("#analysis summary", has_text="Every position").click()
    page.locator('#analysis th a[data-ply="2"]').click()
    at(page, 2)
    expect(here).to_have_attribute("x1", re.compile("^1[0-9]{2}"))
