"""The live pages and the match of the home page in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from django.core.cache import caches
from django.utils import timezone
from playwright.sync_api import Page, Route, expect
from pytest_django.fixtures import Settings

from core.duels.analyses import analysis_request
from core.jobs.worker import Performed, step
from core.models import Duel, JobState, ToldMoves
from core.tests import factories
from core.watching.selectors import DELAY
from web.tests.arena import Stage, staged
from web.tests.tabs import used
from web.tests.test_axe_browser import EVERY_LOOK, faults

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    return staged(factories.cast(), factories.environment())


@pytest.fixture
def page(stage: Stage, tab: Page) -> Iterator[Page]:
    with used(tab) as page:
        yield page


@pytest.fixture
def running(stage: Stage) -> Duel:
    """A duel that is being played, of which nothing is told yet."""
    return factories.duel(stage.tournament, stage.anna, stage.clara, number=2, state=JobState.RUNNING)


def tell(duel: Duel, number: int) -> None:
    """A match that is over: player 1 wins on the first row."""
    assert duel.claim_token is not None
    ToldMoves.objects.create(
        duel=duel, claim_token=duel.claim_token, match=number, begin=0, actions=[0, 3, 1, 4, 2],
        outcome="PLAYER_1" if number % 2 else "PLAYER_2", score_1=1.0 if number % 2 else -1.0,
        score_2=-1.0 if number % 2 else 1.0,
    )  # fmt: skip


def test_the_home_page_plays_a_match_until_it_is_paused(page: Page, stage: Stage) -> None:
    Duel.objects.filter(pk=stage.duel.pk).update(
        player_1_errors=0, player_2_errors=0, draws=0, player_1_wins=31, player_2_wins=29
    )
    page.goto("/")
    # The first film takes the place of the still picture.
    picture = page.locator("#hero img:not([data-still])")
    first = picture.get_attribute("src") or ""
    assert first.startswith("data:image/svg+xml")
    states = page.request.get(f"/duels/{stage.duel.pk}/matches/1/frames.json").json()["frames"]
    # A tab that another module left in the dark names the scheme behind the picture.
    begun = unquote(first.partition(",")[2]).removesuffix("#dark")
    assert begun == states[len(states) // 4]["svg"], "an empty board shows nothing"
    assert begun != states[0]["svg"]
    expect(picture).not_to_have_attribute("src", first)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.locator("#hero .stage > a").click()
    expect(page).to_have_url(re.compile(f"/duels/{stage.duel.pk}/matches/1/"))


def test_an_analysed_match_is_played_first_beside_the_bar_of_its_values(page: Page, stage: Stage) -> None:
    Duel.objects.filter(pk=stage.duel.pk).update(
        player_1_errors=0, player_2_errors=0, draws=0, player_1_wins=31, player_2_wins=29
    )
    page.goto("/")
    expect(page.locator("#hero img")).to_be_visible()
    expect(page.locator("#hero .value")).to_be_hidden()
    analysis_request(user=stage.anna.agent.owner, played=stage.duel, number=2)
    assert step("duel") is Performed.DONE
    # Which duels the page shows is kept for some seconds.
    caches["answers"].clear()
    page.goto("/")
    expect(page.locator("#hero .value")).to_be_visible()
    expect(page.locator("#hero .stage > a")).to_have_attribute("href", f"/duels/{stage.duel.pk}/matches/2/")


def test_the_match_of_the_home_page_stands_still_for_people_who_want_no_motion(page: Page, stage: Stage) -> None:
    Duel.objects.filter(pk=stage.duel.pk).update(
        player_1_errors=0, player_2_errors=0, draws=0, player_1_wins=31, player_2_wins=29
    )
    page.emulate_media(reduced_motion="reduce")
    page.goto("/")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.emulate_media(reduced_motion="no-preference")


def test_a_running_duel_shows_new_matches_without_a_stream(page: Page, running: Duel) -> None:
    page.goto(f"/duels/{running.pk}/")
    expect(page.locator("#live-board")).to_be_visible()
    tell(running, 1)
    expect(page.locator(f"a[href='/duels/{running.pk}/matches/1/']")).to_be_visible()
    factories.moved(Duel.objects.filter(pk=running.pk), JobState.CANCELLED)
    expect(page.locator("#live-board")).to_have_count(0)


def test_axe_finds_nothing_while_a_match_is_being_played(page: Page, running: Duel) -> None:
    tell(running, 1)
    ToldMoves.objects.create(
        duel=running,
        claim_token=running.claim_token or "",
        match=2,
        begin=0,
        actions=[0, 3, 1],
        is_followed=True,
        told_at=timezone.now() - 2 * DELAY,
    )
    page.goto("/live/")
    expect(page.get_by_text("Match 2, 10 seconds ago")).to_be_visible()
    assert faults(page, ["/live/", f"/duels/{running.pk}/", f"/duels/{running.pk}/matches/1/", "/"], EVERY_LOOK) == []


def test_a_page_whose_stream_is_away_asks_by_itself(tab: Page, running: Duel, settings: Settings) -> None:
    settings.EVENTS_URL = "/events"
    with used(tab, complains=True) as page:
        page.route("**/events/**", lambda route: route.abort("connectionrefused"))
        page.goto(f"/duels/{running.pk}/")
        tell(running, 1)
        expect(page.locator(f"a[href='/duels/{running.pk}/matches/1/']")).to_be_visible(timeout=30_000)


def test_a_page_that_got_an_old_answer_at_the_end_asks_again(page: Page, running: Duel, settings: Settings) -> None:
    settings.EVENTS_URL = "/events"
    page.route(
        "**/events/**", lambda route: route.fulfill(body="event: end\ndata: {}\n\n", content_type="text/event-stream")
    )
    asked: list[Route] = []

    def answered(route: Route) -> None:
        if "hx-request" not in route.request.headers:
            route.continue_()
            return
        asked.append(route)
        # As those get who ask at the same time as others: the last answer, while the next one is made.
        answer = route.fetch()
        if len(asked) == 1:
            factories.moved(Duel.objects.filter(pk=running.pk), JobState.CANCELLED)
        route.fulfill(response=answer)

    page.route(f"**/duels/{running.pk}/", answered)
    page.goto(f"/duels/{running.pk}/")
    expect(page.locator("#live-board")).to_have_count(0, timeout=30_000)
    assert len(asked) > 1
    page.unroute(f"**/duels/{running.pk}/")
    page.unroute("**/events/**")


def test_a_stream_puts_its_part_in_place_and_keeps_what_is_open(page: Page, running: Duel, settings: Settings) -> None:
    settings.EVENTS_URL = "/events"
    parts = iter(["first", "second"])

    def answer(route: object) -> None:
        word = next(parts, "second")
        html = (
            f'<section id="live-board"><p>{word}</p><details id="live-text"><summary>As text</summary>'
            f'<a href="/live/">{word} link</a></details></section>'
        )
        data = json.dumps({"id": "live-board", "html": html})
        body = f"retry: 1000\n\nevent: part\ndata: {data}\n\n"
        route.fulfill(body=body, content_type="text/event-stream")  # type: ignore[attr-defined]

    page.route("**/events/**", answer)
    page.goto(f"/duels/{running.pk}/")
    board = page.locator("#live-board")
    expect(board).to_contain_text("first")
    board.locator("summary").click()
    board.locator("a").focus()
    expect(board).to_contain_text("second")
    expect(board.locator("details")).to_have_attribute("open", "")
    expect(board.locator("a")).to_be_focused()
    page.unroute("**/events/**")
