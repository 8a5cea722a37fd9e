"""One person's way through the arena in a real browser, with workers as in production and real containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from django.urls import reverse
from playwright.sync_api import Page, expect, sync_playwright
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from tests.programs import BROWSER_ARGUMENTS, METRICS_TOKEN, free_port, production_variables, running
from tests.samples import FIRST, LAST, tic_tac_toe, upload, zip_of

QUEUES = ("build", "duel", "tournament")
WORK_MILLISECONDS = 180_000
"""Builds, validations and duels are done within this."""
PASSWORD = "a-long-walk-to-the-arena"
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.docker,
    pytest.mark.postgres,
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.nightly,
]


@pytest.fixture
def arena(settings: Settings, tmp_path: Path, redis_url: str, transactional_db: None) -> dict[str, str]:
    """An arena with one agent that waits for an opponent; the variables that its workers need."""
    settings.SANDBOX, settings.DATA_DIR, settings.MEDIA_ROOT = "docker", tmp_path, tmp_path / "files"
    upload(tic_tac_toe(), "rival", FIRST)
    return {**production_variables(redis_url, tmp_path), "METRICS_PORT": str(free_port())}


@contextmanager
def browsing(executable: str, troubles: list[str]) -> Iterator[Page]:
    """A page of a headless browser; what goes wrong in it is added to `troubles`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_ARGUMENTS)
        page = browser.new_page()
        page.on("pageerror", lambda error: troubles.append(f"script: {error}"))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("response", lambda answer: troubles.append(answer.url) if answer.status >= 400 else None)
        try:
            yield page
        finally:
            browser.close()


def sign_up(page: Page, address: str) -> None:
    page.goto(address + reverse("account_signup"))
    page.fill("[name=email]", "newcomer@arena.example")
    page.fill("[name=username]", "newcomer")
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.click("main button[type=submit]")
    expect(page.get_by_role("button", name="Menu of newcomer")).to_be_visible()


def upload_agent(page: Page, address: str, archive: Path) -> None:
    page.goto(address + reverse("web:environment", args=["tic-tac-toe"]))
    page.get_by_role("link", name="Upload an agent").click()
    page.fill("#upload [name=name]", "my-first-agent")
    page.set_input_files("#upload [name=archive]", archive)
    page.click("#upload form[enctype] button[type=submit]")
    expect(page).to_have_url(address + reverse("web:agent", args=["tic-tac-toe", "my-first-agent"]))


def watch_match(page: Page) -> None:
    """Step through a match with the keyboard."""
    slider = page.locator("#slider")
    expect(page.locator("#caption")).not_to_have_text("Loading the match …")
    expect(slider).to_have_value("0")
    start = page.locator("#frame").get_attribute("src")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("1")
    assert page.locator("#frame").get_attribute("src") != start
    page.keyboard.press("End")
    expect(slider).to_have_value(slider.get_attribute("max") or "")
    expect(page).to_have_url(re.compile(r"ply=[1-9]"))
    page.keyboard.press("Home")
    expect(slider).to_have_value("0")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_newcomer_signs_up_uploads_watches_and_is_ranked(
    arena: dict[str, str], live_server: LiveServer, chromium_path: str, tmp_path: Path
) -> None:
    archive = tmp_path / "agent.zip"
    archive.write_bytes(zip_of(LAST))
    troubles: list[str] = []
    address = live_server.url
    with running(arena, "manage.py", "run_workers", *QUEUES), browsing(chromium_path, troubles) as page:
        sign_up(page, address)
        upload_agent(page, address, archive)
        page.evaluate("window.notReloaded = true")
        expect(page.get_by_text("Ready", exact=True)).to_be_visible(timeout=WORK_MILLISECONDS)
        assert page.evaluate("window.notReloaded") is True

        page.goto(address + reverse("web:environment", args=["tic-tac-toe"]))
        page.evaluate("window.notReloaded = true")
        expect(page.locator("#leaderboard")).to_contain_text("finished", timeout=WORK_MILLISECONDS)
        assert page.evaluate("window.notReloaded") is True
        leaderboard = page.locator("#leaderboard")
        expect(leaderboard).to_contain_text("rival")

        leaderboard.get_by_role("link", name="my-first-agent").click()
        page.locator("#last").get_by_role("link", name="against rival").first.click()
        page.locator("#matches a[href*='/matches/']").first.click()
        watch_match(page)
        # What the forked workers of all queues have counted can be read at one port.
        answer = requests.get(
            f"http://127.0.0.1:{arena['METRICS_PORT']}/metrics",
            headers={"Authorization": f"Bearer {METRICS_TOKEN}"},
            timeout=60,
        )
        assert 'jobs_finished_total{fault="NONE",kind="build",state="SUCCEEDED"} 2.0' in answer.text.splitlines()
    assert troubles == []
