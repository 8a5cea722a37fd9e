"""Charts in a real browser: drawn under the strict policy, by keyboard, in both themes, and without their library."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.models import RatingPoint
from core.tests import factories
from core.tests.circles import circle
from core.tests.factories import NOON
from web.tests.tabs import used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
AGENT = "/environments/tic-tac-toe/agents/rock/"


@pytest.fixture
def agent(transactional_db: None) -> str:
    rows = circle(factories.cast(), factories.environment())
    for rank, row in enumerate((rows.scissors, rows.rock, rows.paper), start=1):
        factories.rating(row, 1600 - 50 * rank, rank=rank, best_rank=1, worst_rank=4)
    for days, value in enumerate((1500.0, 1520.0, 1580.0)):
        RatingPoint.objects.create(
            environment=rows.rock.agent.environment, submission=rows.rock, at=NOON + timedelta(days=days),
            value=value, low=value - 40, high=value + 40,
        )  # fmt: skip
    return AGENT


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    with chromium.new_page(base_url=live_server.url, color_scheme="light") as page:
        page.set_default_timeout(60_000)
        yield page


@pytest.fixture
def page(agent: str, tab: Page) -> Iterator[Page]:
    with used(tab) as page:
        yield page


def test_a_chart_is_read_by_keyboard_and_follows_the_theme(page: Page, agent: str, settings: Settings) -> None:
    if not settings.CHART_LIBRARY.is_dir():
        pytest.skip("The chart library is not installed: npm ci")
    page.goto(agent)
    expect(page.locator("figure.plot canvas")).to_be_visible()
    expect(page.locator("details.behind")).not_to_have_attribute("open", "")
    chart = page.locator(".plot-place")
    expect(chart).to_have_accessible_name(
        "Rating over time, in 3 points: 1500 at first, 1580 at last, between 1500 and 1580. "
        "The arrow keys move from point to point."
    )
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("rating 1,520, 95% interval 1,480 to 1,560")
    page.keyboard.press("End")
    expect(page.locator(".readout")).to_contain_text("rating 1,580")
    light = page.evaluate("document.querySelector('figure.plot canvas').toDataURL()")
    page.locator("#theme").click()
    page.wait_for_function("light => document.querySelector('figure.plot canvas').toDataURL() !== light", arg=light)


@pytest.mark.nightly
def test_without_its_library_the_table_is_open(tab: Page, agent: str) -> None:
    def refuse(route: Route) -> None:
        route.abort()

    with used(tab, complains=True) as page:
        page.route("**/uPlot*", refuse)
        page.goto(agent)
        expect(page.locator("figure.plot")).to_be_hidden()
        expect(page.get_by_role("cell", name="1540 to 1620")).to_be_visible()


@pytest.mark.nightly
def test_arrow_keys_go_through_a_matrix_of_one_stop(page: Page, agent: str) -> None:
    page.goto("/environments/tic-tac-toe/head-to-head/")
    expect(page.locator("td a[tabindex='-1']")).to_have_count(5)
    page.locator("td a").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("td a:focus")).to_have_text("90% of40 matches")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("tbody tr:nth-child(2) td a:focus")).to_have_text("90% of40 matches")
