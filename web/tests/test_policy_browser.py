"""Every kind of page in a real browser, full of hostile words: nothing runs, and the policy is never broken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django_q.models import Schedule
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.models import Environment, Evaluation, SeedList, User
from core.tests import factories
from core.tests.organised import one_of_each
from web.tests.hostile import LONG, MARKDOWN, SHORT, infested
from web.tests.test_access import lines

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.alert = () => console.error("alert was called");
"""
NOT_FOUND = "Failed to load resource: the server responded with a status of 40"
"""What a browser says of a page that is meant to be missing."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What pages show, and the sessions of who looks: all made before the browser starts."""

    house: dict[str, Any]
    rows: dict[type[Model], Model]
    sessions: dict[str, str]


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    cast = factories.cast()
    house = infested(cast, SHORT[0], LONG, MARKDOWN)
    rows = one_of_each(cast, factories.environment("connect-four"))
    return Stage(house, rows, {"anonymous": "", "alice": session(cast.alice), "olga": session(cast.olga)})


def session(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[django_settings.SESSION_COOKIE_NAME].value


@pytest.fixture
def troubles() -> list[str]:
    """What pages have complained of, with their address."""
    return []


@pytest.fixture
def browser(stage: Stage, live_server: LiveServer, chromium: Browser) -> Iterator[BrowserContext]:
    with chromium.new_context(base_url=live_server.url) as context:
        context.add_init_script(WATCH)
        context.set_default_timeout(60_000)
        yield context


def page_of(browser: BrowserContext, cookie: str, troubles: list[str]) -> Page:
    """A tab with a user's session; whatever its console says is kept."""
    if cookie:
        browser.add_cookies(
            [{"name": django_settings.SESSION_COOKIE_NAME, "value": cookie, "domain": "localhost", "path": "/"}]
        )
    page = browser.new_page()
    page.on("pageerror", lambda error: troubles.append(f"{page.url}: {error}"))
    page.on(
        "console",
        lambda said: (
            None
            if said.type != "error" or said.text.startswith(NOT_FOUND)
            else troubles.append(f"{page.url}: {said.text}")
        ),
    )
    return page


def test_the_policy_is_seen_to_be_kept(stage: Stage, browser: BrowserContext, troubles: list[str]) -> None:
    """A page that breaks it is noticed here: otherwise the tests below would prove nothing."""
    page = page_of(browser, "", troubles)
    page.goto("/")
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "alert(1)";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<p style='color: red'>x</p><img src='https://evil.example/x.png'>");
    }""")
    expect(page.locator("p[style]")).to_have_count(1)
    unseen = ["script-src", "style-src", "img-src"]
    deadline = time.monotonic() + 60
    while unseen and time.monotonic() < deadline:
        # Playwright hears of what the page complains of while it waits.
        page.wait_for_timeout(50)
        unseen = [kind for kind in unseen if not any(f"policy: {kind}" in one for one in troubles)]
    assert unseen == []
    assert not any("alert was called" in one for one in troubles)


@pytest.mark.parametrize("who", [pytest.param("anonymous", marks=pytest.mark.nightly), "alice"])
def test_no_page_breaks_the_policy_or_runs_what_it_shows(
    stage: Stage, browser: BrowserContext, troubles: list[str], who: str
) -> None:
    page = page_of(browser, stage.sessions[who], troubles)
    shown = 0
    for method, address, statuses in lines():
        # What monitors ask is no page, and without a worker it says that the arena is ill.
        is_for_programs = address.startswith(("/api/v1/", "/health")) or _is_file(address)
        is_page = 405 not in statuses and not is_for_programs
        if method == "GET" and is_page:
            response = page.goto(address.format(**stage.house))
            assert response is not None
            shown += "html" in response.headers.get("content-type", "")
    for name in ("script", "failed"):
        page.goto(f"/evaluations/{stage.house[name]}/")
    assert troubles == []
    assert shown >= 25


@pytest.mark.nightly
def test_no_page_of_the_admin_breaks_the_policy(stage: Stage, browser: BrowserContext, troubles: list[str]) -> None:
    page = page_of(browser, stage.sessions["olga"], troubles)
    for model, row in stage.rows.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        page.goto(reverse(f"{name}_changelist"))
        if model in (User, Environment, Evaluation, SeedList, Schedule):
            page.goto(reverse(f"{name}_change", args=[row.pk]))
    user = stage.rows[User].pk
    for address in (
        reverse("admin:index"), reverse("admin:core_user_add"), reverse("admin:core_user_delete", args=[user]),
        reverse("admin:core_user_history", args=[user]), reverse("admin:auth_user_password_change", args=[user]),
        reverse("admin:django_q_schedule_add"), "/admin/core/",
    ):  # fmt: skip
        page.goto(address)
    # The question before an action.
    page.goto(reverse("admin:core_agent_changelist"))
    page.check("input.action-select")
    page.select_option("select[name=action]", "disable")
    page.click("button[name=index]")
    expect(page.get_by_role("heading", name="Disable agents")).to_be_visible()
    assert len(admin.site._registry) == len(stage.rows)
    assert troubles == []


def test_the_page_of_the_api_works_under_the_policy(stage: Stage, browser: BrowserContext, troubles: list[str]) -> None:
    page = page_of(browser, stage.sessions["alice"], troubles)
    page.goto("/api/docs")
    operation = page.locator("#operations-tokens-get_me")
    operation.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table")).to_contain_text("alice@arena.example")
    assert troubles == []


def test_a_second_factor_is_set_up_under_the_policy(stage: Stage, browser: BrowserContext, troubles: list[str]) -> None:
    page = page_of(browser, stage.sessions["olga"], troubles)
    page.goto("/profile/second-factor/")
    page.get_by_role("button", name="Set it up").click()
    box = page.locator("svg.qr").bounding_box()
    assert box is not None
    # Large enough for the camera of a phone.
    assert box["width"] >= 180
    assert troubles == []


def _is_file(address: str) -> bool:
    return (
        address.endswith((".zip", ".gz", ".json", ".csv", "/video", "/replay.html", ".png", ".svg", "{wheel}"))
        or "/logs/" in address
    )
