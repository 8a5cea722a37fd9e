"""What long names, phones on their side, paper and interrupted streams made of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect
from pytest_django.fixtures import Settings

from core.models import Duel, JobState, Opponents, Recording
from core.sittings.services import opponents_set
from core.tests import factories
from web.tests import scored
from web.tests.arena import Stage, staged
from web.tests.tabs import session, used

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]
LONG = "a" * 50
IS_ON_TOP = """
element => { const { top, bottom } = element.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }
"""


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    return staged(factories.cast(), factories.environment())


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    with used(tab, complains=True) as page:
        yield page
        page.emulate_media(media="screen", color_scheme="light")


def test_a_name_without_a_break_is_broken_on_a_phone(page: Page, transactional_db: None) -> None:
    environment = factories.environment("connect-four")
    rows = [factories.ready(factories.agent(factories.user(name), environment, name * 50)) for name in ("a", "b")]
    for row in rows:
        opponents_set(agent=row.agent, opponents=Opponents.EVERYONE)
    page.set_viewport_size({"width": 390, "height": 844})
    for address in (f"agents/{LONG}/", "", f"compare/?id={LONG}&id={'b' * 50}"):
        page.goto(f"/environments/connect-four/{address}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, address


def test_a_name_from_right_to_left_leaves_what_stands_beside_it(page: Page, transactional_db: None) -> None:
    factories.ready(factories.agent(factories.user("لاعب_878"), factories.environment(), "anna"))
    page.goto("/environments/tic-tac-toe/agents/anna/")
    owner = page.locator("main a[href^='/users/']").first
    assert owner.evaluate("link => getComputedStyle(link).unicodeBidi") == "plaintext"


def test_a_long_name_leaves_the_header_on_one_line(tab: Page, transactional_db: None) -> None:
    with used(tab, session(factories.user("a_very_long_player_name_878"))):
        for width in (390, 320):
            tab.set_viewport_size({"width": width, "height": 844})
            tab.goto("/docs/")
            assert tab.locator(".top").evaluate("top => top.offsetHeight") < 80


def test_board_and_controls_are_seen_together_on_a_phone_on_its_side(page: Page, stage: Stage) -> None:
    page.set_viewport_size({"width": 844, "height": 390})
    for address in (f"/duels/{stage.duel.pk}/matches/1/", f"/embed/duels/{stage.duel.pk}/matches/1/"):
        page.goto(address)
        page.locator(".scene").evaluate("scene => scene.scrollIntoView({ block: 'start', behavior: 'instant' })")
        for part in ("#frame", "#slider", ".buttons"):
            assert page.locator(part).evaluate(IS_ON_TOP), (address, part)


def test_paper_is_white_and_has_whole_tables(page: Page, stage: Stage) -> None:
    page.set_viewport_size({"width": 794, "height": 1123})
    page.goto("/environments/tic-tac-toe/")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    ground, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (ground, ink) == ("rgb(246, 247, 250)", "rgb(20, 27, 43)")
    assert page.evaluate("document.documentElement.scrollWidth") == 794
    thumb = page.locator(".thumb")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert "#dark" not in (thumb.get_attribute("src") or "")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(thumb).to_have_attribute("src", "/static/environments/tic-tac-toe/tic-tac-toe.svg#dark")


def test_a_stream_that_was_given_up_is_opened_again(page: Page, stage: Stage, settings: Settings) -> None:
    settings.EVENTS_URL = "/events"
    duel = factories.duel(stage.tournament, stage.anna, stage.clara, number=2, state=JobState.RUNNING)
    answers = iter([503])
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=next(answers, 200), body="retry: 600000\n\n", content_type="text/event-stream")

    page.route("**/events/**", answer)
    page.clock.install()
    page.goto(f"/duels/{duel.pk}/")
    page.wait_for_function("() => events === null")
    with page.expect_response("**/events/**"):
        page.clock.fast_forward(60_000)
    assert len(asked) == 2
    page.unroute("**/events/**")


def test_a_video_of_an_unknown_kind_is_offered_as_a_file(page: Page, transactional_db: None) -> None:
    task = scored.environment()
    task.seed_lists.update(revealed_at=factories.NOON)
    evaluation = scored.evaluation(
        scored.submission(factories.user("ann"), task, "anna"), scored.scores_around(400, 20)
    )
    scored.recording(evaluation, Recording.Choice.MEDIAN, video=b"no film")
    page.add_init_script("HTMLMediaElement.prototype.canPlayType = () => ''")
    page.goto(f"/evaluations/{evaluation.pk}/")
    expect(page.get_by_role("link", name="Download the video")).to_be_visible()
    expect(page.locator("video")).to_have_count(0)


def test_a_page_comes_back_as_it_was_left_unless_its_form_was_sent(page: Page, transactional_db: None) -> None:
    page.goto("/docs/")
    page.evaluate("window.kept = true")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert page.evaluate("window.kept") is True
    page.evaluate("document.querySelector('form').dataset.sent = 'yes'")
    with page.expect_navigation():
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")


def test_the_match_of_the_home_page_takes_the_room_of_the_drawing(page: Page, stage: Stage) -> None:
    Duel.objects.filter(pk=stage.duel.pk).update(
        player_1_errors=0, player_2_errors=0, draws=0, player_1_wins=31, player_2_wins=29
    )
    page.set_viewport_size({"width": 390, "height": 844})
    heights = []
    for shown in ("img[data-still]", "img:not([data-still])"):
        if shown == "img[data-still]":
            page.route("**/frames.json", lambda route: route.abort())
        page.goto("/")
        expect(page.locator(f"#hero .stage > a > {shown}")).to_be_visible()
        heights.append(page.locator("#hero .stage > a").evaluate("link => link.offsetHeight"))
        page.unroute_all()
    assert heights[0] == heights[1] > 200
