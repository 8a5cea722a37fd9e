"""The page of one's own agent in a browser, from the upload to the rank: its parts agree, and what one does stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from core.editions.advance import environment_advance
from core.editions.fits import ratings_refresh
from core.jobs.lifecycle import job_claim
from core.links import tournament_address
from core.models import Build, DrillMove, Duel, Environment, JobState, NoticeKind, Submission, User
from core.notices.services import Message, notify_each
from core.submissions.phases import build_succeed
from core.tests import factories
from tests.samples import FIRST, zip_of
from web.tests import played
from web.tests.tabs import session, used
from web.tests.test_axe_browser import EVERY_LOOK, faults

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]
PAGE = "/environments/tic-tac-toe/agents/mine/"
WATCH = """
() => {
  const plain = (one) => one.innerText.replace(/\\s+/g, " ");
  const words = (selector) => [...document.querySelectorAll(selector)].map(plain);
  window.seen = [];
  setInterval(() => {
    const [answer] = words("#standing .answer"), figures = words("#standing .figures").join();
    window.seen.push({
      at: performance.now(), answer, figures, versions: words(".version > summary"), rows: words(".versions tbody tr"),
      sit: words("#sit").join(), challenges: words("#challenges").join(), standing: words("#standing").join(),
      last: document.querySelectorAll(".last-duels li").length,
      playing: words(".last-duels").join().split("Playing,").length - 1,
    });
  }, 50);
}
"""


def contradictions(seen: dict[str, Any]) -> list[str]:
    """What the parts of the page say that cannot be true together."""
    found = []
    plays = re.search(r"Version (\d+) plays", seen["answer"])
    number = plays[1] if plays else None
    of_panels = [re.search(r"Version (\d+)", one)[1] for one in seen["versions"] if "Plays" in one]  # type: ignore[index]
    if of_panels != ([number] if number else []):
        found.append(f"{number} plays, but the panels name {of_panels}")
    of_rows = [re.search(r"v(\d+)", one)[1] for one in seen["rows"] if "Plays" in one]  # type: ignore[index]
    if seen["rows"] and of_rows != of_panels:
        found.append(f"the panels name {of_panels}, but the table names {of_rows}")
    if bool(number) is ("no version that may play" in seen["sit"]):
        found.append(f"{number} plays, but: {seen['sit']}")
    if bool(number) is ("No version of mine may play yet" in seen["challenges"]):
        found.append(f"{number} plays, but: {seen['challenges']}")
    rated = re.search(r"Rating (\d+)", seen["figures"])
    if seen["rows"] and rated and not any(f" {rated[1]} " in one for one in seen["rows"]):
        found.append(f"rated {rated[1]}, but not in {seen['rows']}")
    if (
        "for its first rank" in seen["standing"]
        and "Rank" in seen["figures"]
        and "keeps the place" not in seen["standing"]
    ):
        found.append(f"a rank, and none: {seen['standing']}")
    over = re.search(r"(\d+) of \d+ duels are over", seen["standing"])
    if over and int(over[1]) > seen["last"] - seen["playing"]:
        found.append(f"{over[1]} duels are over, but {seen['last']} are listed")
    return found


def longest(snapshots: list[dict[str, Any]]) -> tuple[float, list[str]]:
    """The longest time in seconds for which the page contradicted itself, and how."""
    most, first, how = 0.0, None, []
    for seen in snapshots:
        wrong = contradictions(seen)
        if not wrong:
            first = None
            continue
        first = seen["at"] if first is None else first
        if (seen["at"] - first) / 1000 >= most:
            most, how = (seen["at"] - first) / 1000, wrong
    return most, how


@pytest.fixture
def environment(transactional_db: None) -> Environment:
    return factories.environment()


@pytest.fixture
def owner(environment: Environment) -> User:
    for name in ("berta", "clara"):
        played.ready(factories.agent(factories.user(name), environment, name))
    return factories.user("mia")


@pytest.fixture(scope="module")
def tab(live_server: LiveServer, chromium: Browser) -> Iterator[Page]:
    with chromium.new_page(base_url=live_server.url) as page:
        yield page


@pytest.fixture
def page(owner: User, tab: Page) -> Iterator[Page]:
    with used(tab, session(owner)) as page:
        yield page


def built(submission: Submission) -> None:
    """Do what builders do."""
    claimed = job_claim(kind=Build, job_id=submission.builds.get().pk, worker="worker-1")
    assert claimed is not None
    build_succeed(build=claimed, image="player-mine", digest="sha256:1", warnings=[], log="Built.")


def advance(environment: Environment) -> None:
    environment_advance(environment, now=timezone.now() + timedelta(minutes=10))


def play_edition(environment: Environment, after_each: Callable[[], None]) -> None:
    advance(environment)
    while duel := Duel.objects.filter(state=JobState.QUEUED, tournament__isnull=False).order_by("pk").first():
        duel.match_count = 2
        duel.save(update_fields=["match_count"])
        played.play(duel)
        advance(environment)
        after_each()
    advance(environment)


def test_no_part_of_the_page_contradicts_another_from_the_upload_to_the_last_rank(
    page: Page, owner: User, environment: Environment, tmp_path: Path
) -> None:
    agent = factories.agent(owner, environment, "mine")
    factories.build(factories.submission(agent), JobState.QUEUED)
    snapshots: list[dict[str, Any]] = []

    def run(version: Submission, number: int) -> None:
        page.evaluate(WATCH)
        expect(page.locator("#standing")).to_contain_text(f"Version {number} waits to be built.")
        built(version)
        expect(page.locator("#standing")).to_contain_text(f"Version {number} waits to be validated.")
        waiting = version.validations.get()
        waiting.delete()
        played.play_validation(version)
        expect(page.locator("#standing")).to_contain_text(f"Version {number} plays")
        play_edition(environment, lambda: page.wait_for_timeout(300))
        expect(page.locator("#standing")).to_contain_text("Chance to be the best")
        expect(page.locator("#standing")).not_to_contain_text("first rank")
        expect(page.locator("#standing")).not_to_contain_text("keeps the place")
        expect(page.locator("#agent")).to_have_attribute("hx-trigger", re.compile("visibilitychange.*every 20s"))
        page.wait_for_timeout(1_200)
        snapshots.extend(page.evaluate("window.seen"))

    page.goto(PAGE)
    run(agent.submissions.get(), 1)
    file = tmp_path / "player.zip"
    file.write_bytes(zip_of(FIRST))
    page.locator("#upload input[type=file]").set_input_files(file)
    page.locator("#upload form[enctype] button[type=submit]").click()
    run(agent.submissions.get(number=2), 2)

    answers = {seen["answer"] for seen in snapshots}
    assert len(answers) >= 6, answers
    time, how = longest(snapshots)
    assert time < 1.0, how


def test_what_its_reader_does_survives_what_the_page_brings(page: Page, owner: User, environment: Environment) -> None:
    agent = factories.agent(owner, environment, "mine")
    played.ready(agent)
    version = played.ready(agent)
    build = factories.build(version, JobState.RUNNING, log="step 1")
    page.goto(PAGE)
    page.locator("#v1 > summary").click()
    page.locator("#describe > summary").click()
    page.locator("#description").fill("Half a sent")
    page.locator("#description").press("End")
    page.locator("#v1").evaluate("part => part.scrollIntoView({ block: 'start', behavior: 'instant' })")
    top = page.locator("#v1").bounding_box()
    Build.objects.filter(pk=build.pk).update(log="step 1\nstep 2\nstep 3")
    expect(page.locator("#log-2")).to_contain_text("step 3")
    now = page.locator("#v1").bounding_box()
    assert top is not None
    assert now is not None
    assert abs(now["y"] - top["y"]) < 3
    expect(page.locator("#v1")).to_have_attribute("open", "")
    expect(page.locator("#description")).to_be_focused()
    page.keyboard.type("ence")
    expect(page.locator("#description")).to_have_value("Half a sentence")


def test_each_file_that_is_chosen_is_checked(page: Page, owner: User, environment: Environment) -> None:
    played.ready(factories.agent(owner, environment, "mine"))
    page.goto(PAGE)
    for code, said in (("class Player(:", "player.py does not compile"), (FIRST, "would be accepted")):
        page.locator("#id_code").fill(code)
        expect(page.locator("#upload .checked")).to_contain_text(said)


def test_a_page_at_rest_asks_when_its_reader_comes_back(page: Page, owner: User, environment: Environment) -> None:
    agent = factories.agent(owner, environment, "mine")
    factories.ready(agent)
    environment.is_active = False
    environment.save()
    page.goto(PAGE)
    expect(page.locator("#agent")).to_have_attribute("hx-trigger", re.compile("visibilitychange.*every 20s"))
    factories.ready(agent)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#standing")).to_contain_text("Version 2 plays")


def test_long_names_stay_within_the_page(environment: Environment, tab: Page) -> None:
    owner = factories.user("u" * 140)
    agent = factories.agent(owner, environment, "a" * 50)
    played.ready(agent)
    with used(tab, session(owner)):
        for width in (1280, 390, 320):
            tab.set_viewport_size({"width": width, "height": 844})
            tab.goto(f"/environments/tic-tac-toe/agents/{agent.name}/")
            assert tab.evaluate("document.documentElement.scrollWidth") == width
    tab.set_viewport_size({"width": 1280, "height": 720})


def test_axe_finds_nothing_on_the_page_of_ones_own_agent_and_its_logs(
    page: Page, owner: User, environment: Environment
) -> None:
    agent = factories.agent(owner, environment, "mine")
    first, rival = played.ready(agent), Submission.objects.get(agent__name="berta")
    edition = played.edition([first, rival], environment)
    played.play(played.waiting_duel(edition, first, rival, 4), faults_of_1={1})
    duel = played.play(played.waiting_duel(edition, rival, first, 4))
    ratings_refresh(environment)
    for at, value in enumerate((1400.0, 1450.0)):
        factories.rating_point(first, factories.NOON + timedelta(hours=at), value)
    broken = factories.submission(agent)
    factories.build(broken)
    factories.validation(broken, JobState.FAILED, error="It raised.", log="Played.")
    rows = [factories.blunder(first, duel, number) for number in range(1, 5)]
    DrillMove.objects.create(submission=broken, blunder=rows[-1], action=4, is_found=True)
    over = Message(owner, "It is over", "", tournament_address(edition))
    notify_each(kind=NoticeKind.TOURNAMENT_ENDED, messages=[over])
    notify_each(kind=NoticeKind.OVERTAKEN, messages=[replace(over, agent=agent, rival=rival.agent, address=PAGE)])
    addresses = [
        PAGE,
        f"{PAGE}blunders/",
        "/inbox/",
        "/",
        f"/duels/{duel.pk}/",
        f"/submissions/{broken.pk}/logs/validation/",
    ]
    assert faults(page, addresses, EVERY_LOOK) == []
