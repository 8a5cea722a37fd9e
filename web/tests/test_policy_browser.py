"""Every kind of page in a real browser, full of hostile words: nothing runs, and the policy is never broken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse
from django_q.models import Schedule
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.models import Environment, Evaluation, SeedList, User
from core.tests import factories
from core.tests.factories import Cast
from web.tests.hostile import LONG, MARKDOWN, SHORT, infested
from web.tests.organised import one_of_each
from web.tests.tabs import session, used
from web.tests.test_access import lines
from web.tests.test_attachments import SHOWN

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.alert = () => console.error("alert was called");
"""
RENEW = """
async () => {
  const one = document.querySelector("#leaderboard [id]");
  one.style.opacity = "0.9";
  const settled = new Promise((done) => document.addEventListener("htmx:afterSettle", done, { once: true }));
  htmx.ajax("GET", location.pathname, { target: "#leaderboard", swap: "outerHTML" });
  await settled;
  return document.getElementById(one.id) !== one;
}
"""
NOT_FOUND = "Failed to load resource: the server responded with a status of 40"
"""What a browser says of a page that is meant to be missing."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What pages show, and who looks."""

    house: dict[str, Any]
    cast: Cast


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    cast = factories.cast()
    return Stage(infested(cast, SHORT[0], LONG, MARKDOWN), cast)


@pytest.fixture
def troubles() -> list[str]:
    """What pages have complained of, with their address."""
    return []


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    with chromium.new_page(base_url=live_server.url) as page:
        page.add_init_script(WATCH)
        page.set_default_timeout(60_000)
        yield page


@contextmanager
def watched(tab: Page, cookie: str, troubles: list[str]) -> Iterator[Page]:
    """The tab with a user's session; whatever its console says is kept."""

    def fail(error: Error) -> None:
        troubles.append(f"{tab.url}: {error}")

    def hear(said: ConsoleMessage) -> None:
        if said.type == "error" and not said.text.startswith(NOT_FOUND):
            troubles.append(f"{tab.url}: {said.text}")

    tab.on("pageerror", fail)
    tab.on("console", hear)
    with used(tab, cookie, complains=True):
        yield tab
    tab.remove_listener("pageerror", fail)
    tab.remove_listener("console", hear)


def test_the_policy_is_seen_to_be_kept(transactional_db: None, tab: Page, troubles: list[str]) -> None:
    """A page that breaks it is noticed here: otherwise the tests below would prove nothing."""
    with watched(tab, "", troubles) as page:
        break_policy(page, troubles)
    assert not any("alert was called" in one for one in troubles)


def test_a_part_that_a_script_has_styled_is_renewed_by_the_policy(stage: Stage, tab: Page, troubles: list[str]) -> None:
    """A script may style an element; htmx must not copy its attribute into what takes its place."""
    with watched(tab, "", troubles) as page:
        page.goto(f"/environments/{stage.house['slug']}/")
        assert page.evaluate(RENEW)
        page.wait_for_timeout(50)
    assert troubles == []


def break_policy(page: Page, troubles: list[str]) -> None:
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


@pytest.mark.parametrize(
    ("who", "every"),
    [
        pytest.param("anonymous", 1, marks=pytest.mark.nightly),
        pytest.param("alice", 1, marks=pytest.mark.nightly),
        ("alice", 3),
    ],
)
def test_no_page_breaks_the_policy_or_runs_what_it_shows(
    stage: Stage, tab: Page, troubles: list[str], who: str, every: int
) -> None:
    """every: one page of so many. `test_hostile.py` reads all of them for attributes that style or run."""
    place, cookie = (1, session(stage.cast.alice)) if who == "alice" else (0, "")
    shown = 0
    with watched(tab, cookie, troubles) as page:
        # What is elsewhere is opened there, and refusals all look alike.
        addresses = [address for method, address, statuses in lines()
                     if method == "GET" and statuses[place] == 200 and not _is_for_programs(address)]  # fmt: skip
        for address in addresses[::every]:
            response = page.goto(address.format(**stage.house))
            assert response is not None
            shown += "html" in response.headers.get("content-type", "")
        for path in ("/nothing/", *(f"/evaluations/{stage.house[name]}/" for name in ("script", "failed"))):
            page.goto(path)
    assert troubles == []
    assert shown >= 25 // every


@pytest.mark.nightly
def test_no_page_of_the_admin_breaks_the_policy(stage: Stage, tab: Page, troubles: list[str]) -> None:
    rows = one_of_each(stage.cast, factories.environment("connect-four"))
    with watched(tab, session(stage.cast.olga), troubles) as page:
        for model, row in rows.items():
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            page.goto(reverse(f"{name}_changelist"))
            if model in (User, Environment, Evaluation, SeedList, Schedule):
                page.goto(reverse(f"{name}_change", args=[row.pk]))
        user = rows[User].pk
        for address in (
            reverse("admin:index"), reverse("admin:core_user_add"),
            reverse("admin:core_user_history", args=[user]), reverse("admin:auth_user_password_change", args=[user]),
            reverse("admin:django_q_schedule_add"), "/admin/core/",
        ):  # fmt: skip
            page.goto(address)
        # A list of organisers, the question before an action on its rows, and a form.
        page.goto(reverse("web:organise_versions"))
        page.locator("input[name=row]").first.check()
        page.get_by_role("button", name="Delete the archive").click()
        expect(page.get_by_role("heading", name="Delete the archive")).to_be_visible()
        page.goto(reverse("web:organise_add_season"))
    assert len(admin.site._registry) == len(rows)
    assert troubles == []


@pytest.mark.nightly
def test_a_second_factor_is_set_up_under_the_policy(transactional_db: None, tab: Page, troubles: list[str]) -> None:
    with watched(tab, session(factories.user("olga", is_staff=True, is_superuser=True)), troubles) as page:
        page.goto("/profile/second-factor/")
        page.get_by_role("link", name="Set it up").click()
        page.get_by_label("Password").fill(factories.PASSWORD)
        page.get_by_role("button", name="Go on").click()
        box = page.locator("svg.qr").bounding_box()
    assert box is not None
    # Large enough for the camera of a phone.
    assert box["width"] >= 180
    assert troubles == []


def _is_for_programs(address: str) -> bool:
    """The API, whose one page is looked at in `test_schema_browser.py`; what monitors ask; files; pictures, which a
    browser shows in a page of its own making."""
    return (
        address in SHOWN
        or address.startswith(
            ("/api", "/health", "/kit/", "/submissions/", "/leaderboard/", "/metrics", "/robots.txt", "/sitemap")
        )
        or address.partition("?")[0].endswith((".zip", ".gz", ".json", ".ipynb", ".csv", "/replay.html", "{wheel}"))
        or "/logs/" in address
    )
