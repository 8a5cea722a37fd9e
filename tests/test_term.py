"""A teacher's term in browsers: sixty students in twenty teams, four assignments, a tournament, a cheater, marks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import get_spec
from core.duels.selectors import records_open
from core.editions.planned import planned_begin
from core.editions.progress import tournament_step
from core.environments.services import environment_sync
from core.models import (
    Analysis,
    Assignment,
    Course,
    Duel,
    Environment,
    FormerTeam,
    JobState,
    Notice,
    Submission,
    Team,
    Tournament,
    TournamentState,
    User,
)
from core.models.environment import Play
from core.submissions.services import agent_create
from core.tests import factories
from core.tests.working import work_once
from tests.hands import Hand, Seat, seats
from tests.samples import FIRST, MIDDLE, archive, tic_tac_toe, zip_of
from tournament_manager.tasks import watchdog
from web.tests import played

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.nightly,
]
ZONE = ZoneInfo("Asia/Tokyo")
"""Its clocks never change, so that every time of the term exists."""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
STUDENTS = [f"student-{number:02}" for number in range(1, 61)]
ON_PAPER = STUDENTS[::10]
"""They have no e-mail."""
ADA = ON_PAPER[0]
"""She uploads in the last week, in a browser; before that she is absent."""
BEN = ON_PAPER[1]
LATE, TOO_LATE, EXTENDED, CHEATER, ABSENT = STUDENTS[1], STUDENTS[2], STUDENTS[3], STUDENTS[4], STUDENTS[5]
TOGETHER, TEAM = STUDENTS[57:], "Team-20"
"""They upload as their team; the others of the class each for themselves."""
LATE_DAYS, LATE_PERCENT = 2, 25
GOALS = {"easy": (60, 10), "hard": (75, 5)}
"""Percent to reach and marks, by baseline."""
MOST_PAIRS = 10
PASSWORD = "a-long-walk-to-the-arena"


@pytest.fixture(autouse=True)
def local_processes(settings: Settings, tmp_path: Path, transactional_db: None) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path


@pytest.fixture
def sit(chromium: Browser, live_server: LiveServer) -> Iterator[Seat]:
    with seats(chromium, live_server.url) as sit:
        yield sit


def game(slug: str) -> Environment:
    """A game in which nothing is played but what organisers plan, with short tests."""
    row = tic_tac_toe() if slug == "tic-tac-toe" else environment_sync(spec=get_spec(slug))[0]
    row.play, row.test_cap = Play.NOTHING, MOST_PAIRS
    row.save()
    return row


def listed() -> str:
    """The list of the class, as a school's program exports it."""
    lines = ["user name,e-mail,team,name"]
    for number, name in enumerate(STUDENTS):
        email = "" if name in ON_PAPER else f"{name}@school.example"
        lines.append(f"{name},{email},Team {number // 3 + 1:02},{name.title().replace('-', ' ')}")
    return "\n".join(lines)


def typed(at: datetime) -> str:
    return f"{at.astimezone(ZONE):%Y-%m-%dT%H:%M}"


def course_made(olga: Hand) -> Course:
    """The organiser of the site makes a course and appoints its teacher."""
    olga.open("/courses/")
    olga.click("Add a course")
    olga.fill("Name", "Robots")
    olga.fill("Name in addresses", "robots")
    olga.choose("Time zone", "Asia/Tokyo")
    olga.fill("Teachers", "tess")
    olga.click("Save")
    expect(olga.page.get_by_text("Robots is saved.")).to_be_visible()
    assert olga.spent() == (2, 4)
    return Course.objects.get()


def class_added(tess: Hand) -> dict[str, str]:
    """The teacher adds her class; return the printed codes."""
    tess.open("/courses/robots/")
    tess.click("People")
    tess.click("Add people")
    tess.fill("Or paste the list", listed())
    tess.click("Preview")
    expect(tess.page.get_by_text(f"You get {len(ON_PAPER)} codes to print")).to_be_visible()
    tess.click("Create 60 accounts")
    slips = tess.page.locator(".slips li")
    expect(slips).to_have_count(len(ON_PAPER))
    facts = [slip.locator("dd").all_inner_texts() for slip in slips.all()]
    tess.click("I have printed them")
    expect(tess.page.get_by_role("link", name=ADA, exact=True)).to_be_visible()
    assert tess.spent() == (5, 1)
    return dict(facts)


def teams_made(tess: Hand) -> None:
    """The teams that the list names become owners of agents."""
    tess.open("/courses/robots/")
    tess.click("Teams")
    tess.click("Put 60 students into teams")
    expect(tess.page.get_by_text("60 students are in a team now.")).to_be_visible()
    assert tess.spent() == (2, 0)
    assert sorted(str(one.user) for one in Team.objects.get(account__username=TEAM).people.all()) == TOGETHER
    assert Team.objects.count() == 20


def term_added(tess: Hand, games: dict[str, Environment], due_at: datetime) -> list[Assignment]:
    """One form, and another game in the last week; at most 25 fields. due_at: the last deadline."""
    first = due_at - 21 * DAY
    tess.open("/courses/robots/")
    tess.click("Add an assignment")
    tess.choose("Environment", games["connect-four"].name)
    tess.fill("How many", "4")
    baselines_chosen(tess, "Connect Four")
    tess.fill("Opens", typed(first - 7 * DAY))
    tess.fill("Deadline", typed(first))
    tess.fill("Late days", str(LATE_DAYS))
    tess.fill("Lost per late day (%)", str(LATE_PERCENT))
    tess.click("Save")
    expect(tess.page.get_by_text("4 assignments are added.")).to_be_visible()
    tess.click("Week 4")
    tess.click("Change")
    tess.choose("Environment", games["tic-tac-toe"].name)
    for place, name in enumerate(GOALS, start=1):
        tess.choose(f"Baseline {place}", f"{name}, Tic-tac-toe (tess)")
    tess.click("Save")
    expect(tess.page.get_by_text("Week 4 is saved.")).to_be_visible()
    clicks, fields = tess.spent()
    assert (clicks, fields) == (5, 15)
    assert fields <= 25
    rows = list(Assignment.objects.order_by("due_at"))
    assert [row.name for row in rows] == [f"Week {number}" for number in range(1, 5)]
    assert [row.due_at for row in rows] == [due_at - step * 7 * DAY for step in (3, 2, 1, 0)]
    return rows


def baselines_chosen(tess: Hand, game: str) -> None:
    for place, (name, (percent, worth)) in enumerate(GOALS.items(), start=1):
        tess.choose(f"Baseline {place}", f"{name}, {game} (tess)")
        tess.page.locator(f"[name=percent_{place}]").fill(str(percent))
        tess.page.locator(f"[name=marks_{place}]").fill(str(worth))
        tess.fields += 2


def uploads_made(environment: Environment, weeks: list[Assignment]) -> dict[str, Submission]:
    """The versions of the first three weeks, by owner; nothing of Ada and of one who is absent to the end."""
    third = weeks[2].due_at
    at = {LATE: third + 3 * HOUR, TOO_LATE: third + 3 * DAY, EXTENDED: third + 30 * HOUR}
    made = {}
    for name in (*STUDENTS[:57], TEAM):
        if name in (ADA, ABSENT):
            continue
        agent = factories.agent(User.objects.get(username=name), environment, f"{name}-agent")
        made[name] = played.ready(agent)
        # Others are in time from one of the three weeks on.
        uploaded_at = at.get(name, weeks[int(name[-2:]) % 3].due_at - HOUR)
        Submission.objects.filter(pk=made[name].pk).update(created_at=uploaded_at)
    return made


def extended(tess: Hand, week: Assignment) -> None:
    """A later deadline for one student, on the roster."""
    tess.open("/courses/robots/people/")
    tess.tick(f"Choose {EXTENDED}")
    tess.page.locator("#chosen [name=assignment]").select_option(label=week.name)
    tess.page.locator("#chosen [name=due_at]").fill(typed(week.due_at + 2 * DAY))
    tess.fields += 2
    tess.click("Extend the chosen")
    expect(tess.page.get_by_text("1 person has until")).to_be_visible()
    assert tess.spent() == (1, 3)


def played_by_rows() -> None:
    """Play the duels of the first three weeks as a worker does, with random moves and faults by the students' skill."""
    for place, duel in enumerate(Duel.objects.filter(state=JobState.QUEUED).order_by("pk")):
        name, strength = duel.player_1.agent.owner.username, 1 + (duel.player_2.agent.name == "hard")
        skill = 4 if name in (LATE, TEAM) else int(name[-2:]) % 5
        Duel.objects.filter(pk=duel.pk).update(seed=place)
        duel.refresh_from_db()
        numbers = range(1, duel.match_count + 1)
        lost = [number for number in numbers if number % 5 >= skill + 1 - strength // 2]
        won = [number for number in numbers if number not in lost and number % (1 + strength)]
        played.play(duel, faults_of_1=lost, faults_of_2=won)


def worked() -> None:
    """Do what the workers do until nothing is left, but leave lost matches unsolved: Connect Four takes minutes."""
    while work_once():
        Analysis.objects.all().delete()


def ada_comes(ada: Hand, code: str, agent: Path) -> None:
    """With her code on paper she chooses a password, which logs her in, and uploads from the page of the assignment."""
    ada.open("/login/first/")
    ada.fill("User name", ADA)
    ada.fill("Code", code)
    ada.click("Go on")
    for box in ada.page.locator("input[type=password]").all():
        box.fill(PASSWORD)
    ada.page.locator("main button[type=submit]").click()
    expect(ada.page.get_by_role("button", name=f"Menu of {ADA}")).to_be_visible()
    ada.open("/courses/robots/")
    ada.click("Week 4")
    ada.page.get_by_role("link", name="Upload a version").first.click()
    ada.page.fill("#upload [name=name]", "ada-agent")
    ada.page.set_input_files("#upload [name=archive]", agent)
    ada.page.click("#upload form[enctype] button[type=submit]")
    expect(ada.page.locator("h1")).to_contain_text("ada-agent")


def tournament_played(tess: Hand, versions: dict[str, Submission]) -> Tournament:
    """A Swiss tournament of the course with an agent of each team; the cheater wins, else the first by name."""
    tess.open("/courses/robots/")
    tess.click("Plan a tournament")
    tess.choose("Environment", "Connect Four")
    tess.fill("Name", "Final")
    tess.choose("Format", "Swiss")
    tess.fill("Rounds", "5")
    tess.fill("Pairs", "1")
    tess.fill("Registration opens", typed(timezone.now() - DAY))
    tess.click("Plan the tournament")
    expect(tess.page.get_by_text("is planned.")).to_be_visible()
    made = Tournament.objects.get(name="Final")
    assert (made.course, made.time_zone) == (Course.objects.get(), ZONE.key)
    teams = {version.agent.owner.team or TEAM: version.agent for version in versions.values()}
    for agent in teams.values():
        made.registrations.create(agent=agent)
    assert len(teams) == 20
    tess.page.reload()
    tess.page.locator(".deeds.rule").get_by_text("Begin now").click()
    tess.click("Begin now")
    expect(tess.page.get_by_text("begins within seconds")).to_be_visible()
    planned_begin(made.environment, now=timezone.now())
    made.refresh_from_db()
    while made.state == TournamentState.RUNNING:
        tournament_step(made, now=timezone.now())
        for duel in made.duels.filter(state=JobState.QUEUED).order_by("number"):
            names = [player.agent.name for player in (duel.player_1, duel.player_2)]
            loser = 1 + (min(names, key=lambda name: (not name.startswith(CHEATER), name)) == names[0])
            played.play(duel, **{f"faults_of_{loser}": {1, 2}})
    assert made.state == TournamentState.FINISHED
    return made


def ranks(of: Tournament) -> dict[str, int]:
    """The ranks of who is in the table."""
    rows = of.participants.filter(withdrawn_at=None).values_list("submission__agent__name", "rank")
    return dict(rows)


def cheater_found(tess: Hand, final: Tournament) -> None:
    """After the end the winner is disqualified by two clicks; the table is the one that the preview has shown."""
    page, name = tess.page, f"{CHEATER}-agent"
    before = ranks(final)
    assert before[name] == 1
    tess.open(f"/environments/connect-four/editions/{final.edition}/")
    expect(page.locator(".podium .place-1")).to_contain_text(name)
    tess.spent()
    page.get_by_role("link", name="Disqualify").filter(has_text=name).first.click()
    tess.clicks += 1
    shown = page.locator("main li").all_inner_texts()
    assert f"{name}: 1st, then out" in shown
    tess.page.locator("[name=reason]").fill("Its archive holds an agent of another course.")
    tess.fields += 1
    tess.click("Disqualify")
    expect(page.get_by_text("is disqualified; the table follows within seconds.")).to_be_visible()
    assert tess.spent() == (2, 1)
    watchdog()
    after = ranks(final)
    assert before.keys() - after.keys() == {name}
    assert min(after.values()) == 1
    moved = {one for one in after if after[one] != before[one]}
    assert {line.partition(":")[0] for line in shown} == {name, *moved}
    tess.open(f"/environments/connect-four/editions/{final.edition}/")
    winners = {one for one, rank in after.items() if rank == 1}
    expect(page.locator(".podium .place-1")).to_have_count(len(winners))
    assert all(any(one in text for one in winners) for text in page.locator(".podium .place-1").all_inner_texts())
    expect(page.get_by_text("Its archive holds an agent of another course.").first).to_be_visible()


def reminded(ada: Hand, weeks: list[Assignment]) -> None:
    """Each student who lacks marks of the week that ends is reminded once, Ada in her inbox too."""
    title = f"Week 4 of Robots is due on {weeks[3].course.moment(weeks[3].due_at)}"
    for _ in range(2):
        watchdog()
        got = Notice.objects.filter(title=title).values_list("user__username", flat=True)
        assert sorted(got) == STUDENTS
    ada.open("/inbox/")
    expect(ada.page.get_by_text(title)).to_be_visible()


def recounted(weeks: list[Assignment]) -> dict[str, list[Fraction]]:
    """The marks of everyone by what the records of their duels say, the times of their uploads and the deadlines."""
    found = {}
    for name in STUDENTS:
        found[name] = [sum((_goal(week, name, goal) for goal in GOALS), Fraction()) for week in weeks]
    return found


def _goal(week: Assignment, name: str, goal: str) -> Fraction:
    percent, worth = GOALS[goal]
    due_at = week.due_at + (2 * DAY if (name, week.name) == (EXTENDED, "Week 3") else 0 * DAY)
    best = Fraction()
    owners = [name, TEAM] if name in TOGETHER else [name]
    duels = Duel.objects.filter(challenge__assignment=week, player_1__agent__owner__username__in=owners)
    for duel in duels.filter(player_2__agent__name=goal):
        with records_open(duel) as archive:
            results = [archive.match(row.number).outcome for row in archive.index]
        points = sum(Fraction({Outcome.PLAYER_1: 2, Outcome.DRAW: 1}.get(one, 0), 2) for one in results)
        late = -((due_at - duel.player_1.created_at) // DAY) if duel.player_1.created_at > due_at else 0
        if 100 * points >= percent * len(results) and late <= LATE_DAYS:
            best = max(best, worth * (1 - Fraction(LATE_PERCENT * late, 100)))
    return best


def marks_downloaded(tess: Hand, folder: Path) -> list[dict[str, str]]:
    """One click on the page of the course."""
    tess.open("/courses/robots/")
    tess.spent()
    with tess.page.expect_download() as download:
        tess.click("Marks as CSV")
    assert tess.spent() == (1, 0)
    download.value.save_as(folder / "marks.csv")
    return list(csv.DictReader(io.StringIO((folder / "marks.csv").read_text(encoding="utf-8-sig"))))


def test_a_teachers_term_from_the_list_of_the_class_to_the_marks(sit: Seat, tmp_path: Path) -> None:
    factories.user("tess")
    olga, ada = sit(factories.user("olga", is_staff=True, is_superuser=True)), sit(None)
    games = {slug: game(slug) for slug in ("connect-four", "tic-tac-toe")}
    tess = sit(User.objects.get(username="tess"))
    teacher = User.objects.get(username="tess")
    for name, source in zip(GOALS, (MIDDLE, FIRST), strict=True):
        played.ready(factories.agent(teacher, games["connect-four"], name))
        agent_create(
            owner=teacher, environment=games["tic-tac-toe"], name=name, is_public=False, archive=archive(source)
        )
    agent = tmp_path / "agent.zip"
    agent.write_bytes(zip_of(FIRST))
    # In whole minutes, as forms take it, within the day on which people are reminded.
    due_at = (timezone.now() + 12 * HOUR).replace(second=0, microsecond=0)

    course_made(olga)
    codes = class_added(tess)
    assert sorted(codes) == ON_PAPER
    teams = User.objects.filter(username__in=STUDENTS).values_list("team", flat=True)
    assert len(set(teams)) == 20
    teams_made(tess)
    # Made with the course, before its first deadline.
    FormerTeam.objects.update(left_at=due_at - 30 * DAY)

    weeks = term_added(tess, games, due_at)
    versions = uploads_made(games["connect-four"], weeks)
    extended(tess, weeks[2])
    watchdog()
    played_by_rows()
    ada_comes(ada, codes[ADA], agent)
    # A second real version, which is the baseline once more.
    ben = User.objects.get(username=BEN)
    agent_create(
        owner=ben, environment=games["tic-tac-toe"], name="ben-agent", is_public=False, archive=archive(MIDDLE)
    )
    worked()
    played_at_work = Duel.objects.filter(challenge__assignment=weeks[3])
    assert set(played_at_work.values_list("player_1__agent__owner__username", "player_2__agent__name", "state")) == {
        (name, goal, JobState.SUCCEEDED) for name in (ADA, BEN) for goal in GOALS
    }
    ada.open(f"/courses/robots/assignments/{weeks[3].pk}/")
    expect(ada.page.locator("#result")).to_contain_text("10 of 15 marks")

    final = tournament_played(tess, versions)
    cheater_found(tess, final)
    reminded(ada, weeks)
    rows = marks_downloaded(tess, tmp_path)
    expected = recounted(weeks)
    columns = [f"{week.name} (of 15)" for week in weeks]
    assert {row["user"]: [Fraction(row[one]) for one in columns] for row in rows} == expected
    assert {row["user"]: round(float(row["percent"]), 2) for row in rows} == {
        name: round(float(100 * sum(marks) / 60), 2) for name, marks in expected.items()
    }
    # Of the absent, the late and the extended one: what the recount finds is what was agreed.
    assert [int(one) for one in expected[ADA]] == [0, 0, 0, 10]
    assert not any(expected[ABSENT] + expected[TOO_LATE][:3])
    # In full, although the version came 30 hours after the deadline of all.
    assert expected[EXTENDED][2] in {10, 15}
    assert 0 < expected[LATE][2] < 15
    assert [sum(expected[name]) > 0 for name in TOGETHER] == [True] * 3
    assert {row["team"] for row in rows if row["user"] in TOGETHER} == {TEAM}
    assert len({sum(marks) for marks in expected.values()}) > 5, expected
