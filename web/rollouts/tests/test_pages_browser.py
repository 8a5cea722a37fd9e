"""Pages of rollouts in a browser: nothing hostile runs, nothing is wider than a phone, video and steps stay in step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.models import Batch, Rollout
from core.tests import applications, factories
from web.rollouts.tests.recorded import steps, worked

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def batches(transactional_db: None) -> list[Batch]:
    return worked(factories.user("anna"))


@pytest.fixture
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    with chromium.new_page(base_url=live_server.url, viewport={"width": 1280, "height": 900}) as page:
        yield page


def addresses(batches: list[Batch]) -> dict[str, str]:
    first, second = batches
    one, other = first.rollouts.filter(task__key="count").order_by("pk")[:2]
    long = second.rollouts.order_by("pk")[0]
    desk = "/environments/desk/"
    return {
        "board": desk, "tasks": f"{desk}tasks/", "task": f"{desk}tasks/count/", "told": f"{desk}told/",
        "batches": f"{desk}batches/", "batch": f"/batches/{first.public_id}/",
        "running": f"/batches/{second.public_id}/",
        "batches-compared": f"/batches/compare/?first={first.public_id}&second={second.public_id}",
        "rollout": f"/rollouts/{one.public_id}/?step=3", "rollout-long": f"/rollouts/{long.public_id}/?step=60",
        "rollouts-compared": f"/rollouts/compare/?first={one.public_id}&second={long.public_id}",
        "other": f"/rollouts/{other.public_id}/",
    }  # fmt: skip


def test_pages_are_calm_in_every_size(batches: list[Batch], tab: Page) -> None:
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    pictures = os.environ.get("ARENA_PICTURES", "")
    for name, address in addresses(batches).items():
        for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (320, "dark")):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            tab.goto(address)
            if pictures:
                tab.screenshot(path=Path(pictures) / f"{name}-{width}-{scheme}.png", full_page=True)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            assert "taken" not in tab.title()
            words = "[...document.querySelectorAll('.facts.across dt')].filter((one) => one.offsetHeight > 40)"
            assert tab.evaluate(f"{words}.map((one) => one.textContent)") == [], (name, width)
    assert said == []


def test_video_and_steps_stay_in_step(batches: list[Batch], tab: Page) -> None:
    tab.goto(addresses(batches)["other"])
    tab.locator("#step-list a").nth(3).click()
    expect(tab.locator("#step-title")).to_contain_text("Step 4")
    assert tab.evaluate("document.getElementById('video').currentTime") == pytest.approx(1.54, abs=0.05)
    tab.keyboard.press("k")
    expect(tab.locator("#step-title")).to_contain_text("Step 3")
    expect(tab.locator("#step-list [aria-current]")).to_have_attribute("data-step", "3")
    tab.evaluate("document.getElementById('video').currentTime = 0")
    tab.evaluate("const v = document.getElementById('video'); v.muted = true; v.playbackRate = 2; v.play()")
    expect(tab.locator("#step-title")).to_contain_text("Step 6")


def test_steps_are_gone_through_by_keyboard_and_told_to_a_screen_reader(batches: list[Batch], tab: Page) -> None:
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto(addresses(batches)["rollout-long"])
    listed = tab.locator(".steps-panel")
    # The step of the address is in sight within the list, and the page has not moved for it.
    expect(listed.locator("[data-step='60']")).to_have_attribute("aria-current", "step")
    assert tab.evaluate("window.scrollY") == 0
    top = "document.querySelector('.steps-panel').scrollTop"
    assert tab.evaluate(top) > 0
    listed.locator("[data-step='60']").focus()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    expect(tab.locator("#step-title")).to_contain_text("Step 61")
    expect(listed.locator("[data-step='61']")).to_be_focused()
    expect(tab.locator("#announcer")).to_contain_text("Step 61 of 120")
    tab.get_by_text("The page as the agent reads it").focus()
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("group", name="The page", exact=True)).to_contain_text("Blue lamp")


@pytest.mark.parametrize("has_events", [True, False])
def test_a_rollout_at_work_is_followed_to_its_end(
    batches: list[Batch], tab: Page, client: Client, live_server: LiveServer, *, has_events: bool
) -> None:
    rollout = batches[1].rollouts.order_by("pk")[1]
    # How an agent goes about a ranking task is for its owner.
    client.force_login(rollout.batch.owner)
    tab.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}])
    if not has_events:
        tab.route("**/events/", lambda route: route.fulfill(status=503))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"/rollouts/{rollout.public_id}/")
    expect(tab.locator(".steps-panel")).to_contain_text("not taken a step yet")
    shown = steps(3)
    Rollout.objects.filter(pk=rollout.pk).update(phase="WORKING", live={"steps": shown[:2], "count": 2}, step_count=2)
    expect(tab.locator("#step-title")).to_contain_text("Step 2")
    # A step that was chosen stays.
    tab.locator("#step-list a").first.click()
    expect(tab.locator("#step-title")).to_contain_text("Step 1")
    Rollout.objects.filter(pk=rollout.pk).update(live={"steps": shown, "count": 3}, step_count=3)
    expect(tab.locator("#step-list a")).to_have_count(3)
    expect(tab.locator("#step-title")).to_contain_text("Step 1")
    applications.finished(Rollout.objects.get(pk=rollout.pk))
    expect(tab.locator("#rollout .state")).to_contain_text("Solved")
    assert tab.locator("#rollout[data-live]").count() == 0
    assert any("/events/" in url for url in asked)


@pytest.mark.parametrize(("width", "has_events"), [(1280, True), (390, True), (390, False)])
def test_a_batch_at_work_is_followed_to_its_end(
    batches: list[Batch], tab: Page, width: int, *, has_events: bool
) -> None:
    rollouts = list(batches[1].rollouts.order_by("pk"))
    tab.set_viewport_size({"width": width, "height": 900})
    if not has_events:
        tab.route("**/events/", lambda route: route.fulfill(status=503))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"/batches/{batches[1].public_id}/")
    tab.evaluate("window.isSamePage = true")
    shown = tab.locator("#batch")
    expect(shown).to_contain_text("1 of 4, 1 running")
    link = tab.locator(f"#rollout-{rollouts[1].pk}")
    link.focus()
    applications.finished(rollouts[1], "NOT_SOLVED")
    expect(shown).to_contain_text("2 of 4, 0 running")
    # The link that a keyboard is at stays focused, and a screen reader is told.
    expect(link).to_be_focused()
    expect(tab.locator("#announcer")).to_contain_text("2 of 4 rollouts have finished")
    tab.keyboard.press("Tab")
    expect(tab.locator("#matrix-scroll a:focus")).to_have_count(1)
    for rollout in rollouts[2:]:
        applications.finished(rollout)
    expect(shown.locator(".badge-good").first).to_have_text("Finished")
    expect(tab.locator("[data-live]")).to_have_count(0)
    assert tab.evaluate("window.isSamePage")
    assert any("/events/" in url for url in asked)


def test_pages_are_read_without_scripts(batches: list[Batch], live_server: LiveServer, chromium: Browser) -> None:
    with chromium.new_context(base_url=live_server.url, java_script_enabled=False) as context:
        page = context.new_page()
        at = addresses(batches)
        page.goto(at["running"])
        page.get_by_role("link", name="Load this page again").click()
        expect(page.locator("#batch")).to_contain_text("1 of 4, 1 running")
        page.goto(at["rollout"])
        expect(page.locator("#step-title")).to_contain_text("Step 3")
        page.get_by_role("link", name="Next step").click()
        expect(page.locator("#step-title")).to_contain_text("Step 4")
        page.get_by_text("The page as the agent reads it").click()
        expect(page.get_by_role("group", name="The page", exact=True)).to_contain_text("Blue lamp")
        expect(page.get_by_text("Load this page again")).to_have_count(0)
