"""What only a browser shows: shades, forced colours, pages without scripts, and dots of charts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.models import RatingPoint
from core.tests import factories
from core.tests.circles import circle
from core.tests.factories import NOON
from web.tests.arena import Stage, staged
from web.tests.tabs import used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
DOT_PIXELS = 10
BRIGHTNESS = """
element => {
  const context = document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(element);
  const probe = element.appendChild(document.createElement("i"));
  const brightness = (names) => {
    context.fillStyle = "black";
    context.fillRect(0, 0, 1, 1);
    for (const name of names) {
      probe.style.color = `var(${name})`;
      context.fillStyle = getComputedStyle(probe).color;
      context.fillRect(0, 0, 1, 1);
    }
    return context.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((one, other) => one + other);
  };
  const found = [brightness(["--behind"]), brightness(["--behind", "--shade"])];
  probe.remove();
  return found;
}
"""
RECORD_ARCS = """
window.arcs = [];
const arc = Path2D.prototype.arc;
Path2D.prototype.arc = function (x, ...rest) { window.arcs.push(x); return arc.call(this, x, ...rest); };
"""


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    return staged(factories.cast(), factories.environment())


@pytest.fixture
def rated(transactional_db: None) -> str:
    """A page with a chart whose last points lie within half an hour of twenty days."""
    rock = circle(factories.cast(), factories.environment()).rock
    moments = [NOON, *(NOON + timedelta(days=20, minutes=number) for number in range(30))]
    for number, moment in enumerate(moments):
        RatingPoint.objects.create(
            environment=rock.agent.environment, submission=rock, at=moment, value=1500 + number, low=1460, high=1540
        )
    return "/environments/tic-tac-toe/agents/rock/"


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    with chromium.new_page(base_url=live_server.url) as page:
        page.add_init_script(RECORD_ARCS)
        yield page


@pytest.mark.nightly
def test_the_shade_at_the_edge_is_darker_than_what_scrolls(rated: str, tab: Page) -> None:
    with used(tab) as page:
        for part, address in ((".scroll", rated), (".sections", "/environments/tic-tac-toe/head-to-head/")):
            page.goto(address)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                behind, shade = page.locator(part).first.evaluate(BRIGHTNESS)
                assert shade < behind, (part, scheme)
        page.emulate_media(color_scheme="light")


@pytest.mark.nightly
def test_forced_colours_leave_the_seats_their_own(stage: Stage, tab: Page) -> None:
    with used(tab) as page:
        page.emulate_media(forced_colors="active")
        page.goto(f"/duels/{stage.duel.pk}/matches/1/")
        painted = "disc => { const s = getComputedStyle(disc); return [s.backgroundColor, s.borderColor].join(' '); }"
        seats = [page.locator(f".disc.player-{seat}").first.evaluate(painted) for seat in (1, 2)]
        page.emulate_media(forced_colors="none")
    assert seats[0] != seats[1]


@pytest.mark.nightly
def test_without_scripts_the_current_move_is_marked_and_not_scrolled_away(
    stage: Stage, chromium: Browser, live_server: LiveServer
) -> None:
    with chromium.new_page(base_url=live_server.url, java_script_enabled=False) as page:
        page.set_viewport_size({"width": 1200, "height": 5000})
        page.goto(f"/duels/{stage.duel.pk}/matches/1/")
        last = page.locator("#moves a").last.get_attribute("href")
        page.goto(f"/duels/{stage.duel.pk}/matches/1/{last}")
        current = page.locator("#moves [aria-current]")
        expect(current).to_have_count(1)
        expect(current).to_have_attribute("href", last or "")
        listed, row = page.locator("#moves").bounding_box(), current.bounding_box()
        assert listed is not None
        assert row is not None
        assert row["y"] + row["height"] <= listed["y"] + listed["height"]
        assert page.locator("#moves").evaluate("list => getComputedStyle(list).maxHeight") == "none"


@pytest.mark.nightly
def test_dots_of_a_chart_never_lie_on_each_other(rated: str, tab: Page, settings: Settings) -> None:
    if not settings.CHART_LIBRARY.is_dir():
        pytest.skip("The chart library is not installed: npm ci")
    with used(tab) as page:
        page.goto(rated)
        expect(page.locator("figure.plot canvas")).to_be_visible()
        page.wait_for_function("() => window.arcs.length > 0")
        places = sorted(set(page.evaluate("window.arcs")))
    assert len(places) >= 2
    assert min(after - before for before, after in pairwise(places)) >= DOT_PIXELS
