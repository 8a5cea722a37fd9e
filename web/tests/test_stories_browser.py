"""What people do on the site, in three browsers: each story is the same in Chromium, Firefox and WebKit."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import reverse
from PIL import Image, ImageStat
from playwright.sync_api import Browser
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from core.models import JobState, Opponents, Sitting, SittingMove, Submission, User
from core.sittings.services import opponents_set
from core.tests import factories
from tests.drivers import Driver, driver
from tests.samples import FIRST, zip_of
from web.tests.arena import Stage, staged
from web.watching.tests.test_live_browser import tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.nightly]
BROWSERS = [
    "chromium",
    pytest.param("firefox", marks=pytest.mark.firefox),
    pytest.param("webkit", marks=pytest.mark.webkit),
]
PASSWORD = "a long password of a newcomer"
COUNT = "document.getElementById('count').textContent"
MENU = "const box = document.getElementById('menu').getBoundingClientRect(); return [box.top, box.bottom, box.right]"


@pytest.fixture(scope="module", params=BROWSERS)
def window(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Driver]:
    with driver(request.param, chromium) as opened:
        yield opened


@pytest.fixture
def stage(transactional_db: None) -> Stage:
    return staged(factories.cast(), factories.environment())


def opened_menu(window: Driver) -> tuple[float, float, float]:
    """Open the menu of the header and return its upper, lower and right edge."""
    window.click("button.opens")
    window.until("document.querySelector('#menu:popover-open')")
    return tuple(window.run(MENU))


def brightness(window: Driver, selector: str) -> float:
    """Return how bright a picture is in the window, from 0 to 255."""
    place = f"const picture = document.querySelector('{selector}'); picture.scrollIntoView({{ block: 'center' }});"
    window.until(f"document.querySelector('{selector}').complete")
    window.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    left, top, right, bottom = window.run(
        f"{place} const box = picture.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]"
    )
    shown = Image.open(io.BytesIO(window.picture())).convert("L")
    return ImageStat.Stat(shown.crop((int(left), int(top), int(right), int(bottom)))).mean[0]


def test_a_newcomer_signs_up_and_uploads(
    window: Driver, live_server: LiveServer, transactional_db: None, tmp_path: Path
) -> None:
    factories.environment()
    window.resize(1000, 800)
    window.goto(f"{live_server.url}{reverse('account_signup')}")
    for name, text in (
        ("email", "newcomer@arena.example"),
        ("username", "newcomer"),
        ("password1", PASSWORD),
        ("password2", PASSWORD),
    ):
        window.type(f"[name={name}]", text)
    window.click("main button[type=submit]")
    window.until_reads(".who", "newcomer")
    assert User.objects.get().username == "newcomer"

    top, bottom, right = opened_menu(window)
    button = window.run("return document.querySelector('button.opens').getBoundingClientRect().bottom")
    assert button <= top < bottom <= 500
    assert right <= 1000
    window.until_reads("#menu", "Log out")
    window.press("Escape")
    window.until("!document.querySelector('#menu:popover-open')")

    window.goto(f"{live_server.url}/environments/tic-tac-toe/write/")
    wrong, right_one = tmp_path / "agent.zip", tmp_path / "player.zip"
    wrong.write_text("no archive")
    right_one.write_bytes(zip_of(FIRST))
    window.type("#upload [name=name]", "my-first-agent")
    window.choose("#upload [name=archive]", wrong)
    # What the check says about the file moves the button.
    window.until("document.querySelector('.checked').textContent.trim()")
    window.click("#upload form[enctype] button[type=submit]")
    window.until_reads(".wrong .error", "zip")
    assert not Submission.objects.exists()
    window.choose("#upload [name=archive]", right_one)
    window.until("document.querySelector('.checked').textContent.trim()")
    window.click("#upload form[enctype] button[type=submit]")
    window.until("document.querySelector('.step')")
    window.until_reads("h1", "my-first-agent")
    assert Submission.objects.get().agent.name == "my-first-agent"


def test_the_menu_of_a_visitor_lies_below_the_header_and_esc_closes_it(
    window: Driver, live_server: LiveServer, transactional_db: None
) -> None:
    window.resize(500, 900)
    window.goto(f"{live_server.url}/docs/")
    top, bottom, right = opened_menu(window)
    header = window.run("return document.querySelector('button.opens').getBoundingClientRect().bottom")
    assert header <= top < bottom <= 400
    assert right <= 500
    window.press("Escape")
    window.until("!document.querySelector('#menu:popover-open')")
    opened_menu(window)
    window.click("#menu a", "Docs")
    window.until("!document.querySelector('#menu:popover-open')")


def test_a_person_plays_by_mouse_on_the_board(window: Driver, live_server: LiveServer, transactional_db: None) -> None:
    environment = factories.environment("connect-four")
    row = factories.ready(factories.agent(factories.user("ann"), environment, "anna"))
    opponents_set(agent=row.agent, opponents=Opponents.EVERYONE)
    window.resize(1280, 900)
    window.goto(f"{live_server.url}/environments/connect-four/agents/anna/")
    window.click("#sit .button")
    window.click("form .button", "Play anna")
    window.until_reads(".turn", "Your turn.")
    window.click(".on-board foreignObject:nth-of-type(4) button")
    window.until_reads(".turn", "anna v1 is to move.")
    SittingMove.objects.create(sitting=Sitting.objects.get(), step=1, seat=1, action=3)
    window.until_reads(".turn", "anna v1 played column 3. Your turn.")
    window.press("2")
    window.until("document.querySelectorAll('.made li').length === 3")
    assert [move.action for move in SittingMove.objects.filter(seat=0)] == [3, 2]


def test_a_replay_is_stepped_by_keys_slider_and_list(window: Driver, live_server: LiveServer, stage: Stage) -> None:
    window.resize(1280, 900)
    window.goto(f"{live_server.url}/duels/{stage.duel.pk}/matches/1/")
    window.until("document.getElementById('slider')")
    first = window.run("return document.getElementById('frame').src")
    last = window.run("return Number(document.getElementById('slider').max)")
    window.press("ArrowRight")
    window.until(f"{COUNT} === '1 / {last}'")
    assert window.run("return document.getElementById('frame').src") != first
    window.press("End")
    window.until(f"{COUNT} === '{last} / {last}'")
    window.run("document.getElementById('slider').focus()")
    window.press("Home")
    window.until(f"{COUNT} === '0 / {last}'")
    window.click("[data-do=play]")
    window.until(f"{COUNT} === '2 / {last}'")
    window.click("[data-do=play]")
    window.click("#moves li:nth-child(4) a")
    window.until(f"{COUNT} === '3 / {last}'")
    window.goto(window.run("return location.href"))
    window.until(f"document.getElementById('slider') && {COUNT} === '3 / {last}'")


def test_a_running_duel_shows_new_matches(
    window: Driver, live_server: LiveServer, stage: Stage, settings: Settings
) -> None:
    duel = factories.duel(stage.tournament, stage.anna, stage.clara, number=2, state=JobState.RUNNING)
    window.goto(f"{live_server.url}/duels/{duel.pk}/")
    window.until("document.getElementById('live-board')")
    tell(duel, 1)
    window.until(f"document.querySelector(\"a[href='/duels/{duel.pk}/matches/1/']\")")


def test_boards_follow_the_scheme_that_a_person_chooses(window: Driver, live_server: LiveServer, stage: Stage) -> None:
    window.resize(1280, 900)
    window.goto(f"{live_server.url}/duels/{stage.duel.pk}/matches/1/")
    window.until("document.getElementById('slider')")
    found = []
    for _ in range(3):
        found.append(brightness(window, "#frame"))
        window.click("#theme")
    window.click("#theme")
    assert found[1] < 100 < min(found[0], found[2])


@pytest.mark.parametrize("name", BROWSERS)
def test_boards_are_dark_where_the_system_is(
    name: str, chromium: Browser, live_server: LiveServer, stage: Stage
) -> None:
    match = f"/duels/{stage.duel.pk}/matches/1/"
    with driver(name, chromium, is_dark=True) as window:
        window.resize(1280, 900)
        for address, picture in ((match, "#frame"), (f"/embed{match}", "#frame"), ("/play/", ".game img")):
            window.goto(f"{live_server.url}{address}")
            assert brightness(window, picture) < 100, address
