"""A league for its members alone, with a game that its organiser uploads in a browser, and later with new rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from arena_kit.tests.environment.edited import nim, zipped
from arena_kit.tests.environment.outside import outside
from core.models import Course, Duel, Environment, EnvironmentTrial, JobState, SeenBy
from core.submissions.services import agent_create
from core.tests import factories
from tests.hands import Hand, Seat, seats
from tests.samples import FIRST, LAST, archive, deliver_messages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser, pytest.mark.slow, pytest.mark.nightly]
MATCHES = ("matches_per_duel: 100", "matches_per_duel: 4")


@pytest.fixture(autouse=True)
def own(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[None]:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path / "data"
    settings.ENVIRONMENTS_DIR = folder = tmp_path / "own"
    with outside(folder, monkeypatch, tmp_path / "trials"):
        yield


@pytest.fixture
def sit(chromium: Browser, live_server: LiveServer) -> Iterator[Seat]:
    with seats(chromium, live_server.url) as sit:
        yield sit


def league_made(lena: Hand) -> Course:
    lena.open("/courses/")
    lena.click("Add a course")
    lena.fill("Name", "Nim night")
    lena.fill("Name in addresses", "nim-night")
    lena.choose("Pages call it", "league")
    lena.fill("Teachers", "lena")
    lena.click("Save")
    expect(lena.page.get_by_text("Nim night is saved.")).to_be_visible()
    assert lena.spent() == (2, 4)
    made = Course.objects.get()
    assert made.seen_by == SeenBy.MEMBERS
    return made


def put_live(lena: Hand, folder: Path, *, change: str, course: str = "") -> None:
    """Upload a folder, read its verdict and put it live. change: what the confirmation says about it. course: of it."""
    file = folder.parent / f"{folder.name}.zip"
    file.write_bytes(zipped(folder))
    lena.open("/organise/environments/")
    lena.click("Uploaded folders")
    lena.page.get_by_role("link", name="Add").or_(lena.page.get_by_role("link", name="Upload")).first.click()
    lena.clicks += 1
    lena.attach("Folder", file)
    lena.page.locator("main form button[type=submit]").last.click()
    lena.clicks += 1
    deliver_messages()
    trial = EnvironmentTrial.objects.latest("pk")
    assert (trial.state, trial.error) == (JobState.SUCCEEDED, "")
    lena.open(f"/organise/jobs/environmenttrial/{trial.pk}/")
    expect(lena.page.locator(".verdict-lines")).not_to_contain_text("Refused")
    expect(lena.page.locator(".states img").first).to_be_visible()
    lena.page.get_by_role("link", name="Put live", exact=False).first.click()
    lena.clicks += 1
    expect(lena.page.get_by_text(change).first).to_be_visible()
    if course:
        lena.choose("Course of a new environment", course)
    lena.click("Put live")
    expect(lena.page.get_by_text("This folder is live.")).to_be_visible()
    assert lena.spent() == (5, 2 if course else 1)


def drawn(member: Hand, duel: Duel, stones: int) -> None:
    """A member watches the first match to its end: its board is drawn, and it begins with so many stones."""
    page = member.page
    member.open(f"/duels/{duel.pk}/matches/1/")
    expect(page.locator("#caption")).not_to_have_text("Loading the match …")
    picture = page.locator("#frame")
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") > 0
    start = picture.get_attribute("src")
    expect(page.get_by_text(f"{stones} stones are left.").first).to_be_attached()
    page.keyboard.press("End")
    expect(page.locator("#slider")).not_to_have_value("0")
    assert picture.get_attribute("src") != start


def hidden(stranger: Hand, duels: list[Duel]) -> None:
    """A stranger finds nothing of the league."""
    for path in (
        "/",
        "/courses/",
        "/live/",
        "/tournaments/",
        "/search/?q=nim",
        "/sitemap.xml",
        "/api/v1/environments/",
    ):
        answer = stranger.page.request.get(path)
        assert answer.ok, path
        text = answer.text().casefold()
        assert not [name for name in ("environments/nim", "nim night", "nim-night", "mia-agent") if name in text], path
    private = [
        "/courses/nim-night/",
        "/environments/nim/",
        "/environments/nim/feed.atom",
        "/environments/nim/agents/a/",
    ]
    for duel in duels:
        private += [f"/duels/{duel.pk}/", f"/duels/{duel.pk}/matches/1/", f"/api/v1/duels/{duel.pk}/"]
    for path in private:
        assert stranger.page.request.get(path).status == 404, path


def test_a_league_with_a_game_of_its_own_that_gets_new_rules(sit: Seat, tmp_path: Path) -> None:
    lena, stranger = sit(factories.user("lena", is_staff=True, is_superuser=True)), sit(None)
    made = league_made(lena)
    put_live(lena, nim(tmp_path / "1", info=MATCHES), change="nim-v1 is new", course="Nim night")
    environment = Environment.objects.get(slug="nim")
    assert environment.course == made
    people = [factories.user(name) for name in ("mia", "max")]
    for person, source in zip(people, (FIRST, LAST), strict=True):
        made.members.create(user=person)
        agent_create(
            owner=person, environment=environment, name=f"{person}-agent", is_public=False, archive=archive(source)
        )
    deliver_messages(drawing=False)
    old = Duel.objects.get()
    assert (old.state, old.environment_version) == (JobState.SUCCEEDED, "nim-v1")
    mia = sit(people[0])
    drawn(mia, old, 10)
    hidden(stranger, [old])

    raised = ("version: 1", "version: 2")
    folder = nim(tmp_path / "2", environment=("_stones = 10", "_stones = 9"), info=raised)
    put_live(lena, folder, change="nim-v2")
    deliver_messages(drawing=False)
    new = Duel.objects.exclude(pk=old.pk).get()
    assert (new.state, new.environment_version) == (JobState.SUCCEEDED, "nim-v2")
    drawn(mia, new, 9)
    drawn(mia, old, 10)
    hidden(stranger, [old, new])
