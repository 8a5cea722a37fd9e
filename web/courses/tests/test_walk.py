"""A course for members only is walked through at every address of the site: nothing of it is shown to other people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from core.courses.sight import PATHS, listed, seen
from core.editions.tests.planned import begun
from core.editions.tests.scored import score, step
from core.models import (
    Agent,
    Announcement,
    Assignment,
    Course,
    Duel,
    Environment,
    Member,
    Role,
    SeedList,
    SeenBy,
    Submission,
    Tournament,
    User,
)
from core.tests import factories
from core.tests.factories import Cast
from web.tests import played
from web.tests.house import furnished
from web.tests.test_access import answer as asked
from web.tests.test_access import lines, session_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
MARK = "zebrafish"
MEAN = 98765.0
OUTSIDE = ("stranger", "other")
SCORED = {
    "/environments/{slug}/editions/{edition}/",
    "/environments/{slug}/editions/{edition}/agents/{agent}/",
    "/api/v1/tournaments/{tournament}/standing/",
}
"""Addresses at which members read scores of a tournament."""
# Not within a longer number, or an id that is made by chance.
SCORE = r"(?<![\w.-])98,?76[456](?![\w-])"
OF_TOURNAMENTS = {"tournament", "cup", "edition", "cup_edition"}
LISTS = ("/", "/search/?q=a", "/sitemap.xml", "/users/alice/", "/live/")
PAGE = "/environments/{slug}/"


@dataclass(frozen=True)
class Hidden:
    """A course with all that an address can name. people: by role. house: see `web.tests.house`.

    aside: a tournament of it in an environment for everyone, with its duel. finals: one whose agents play alone there.
    """

    course: Course
    people: dict[str, User | None]
    sessions: dict[str, str]
    house: dict[str, Any]
    aside: Duel
    finals: Tournament


def course(slug: str, seen_by: SeenBy = SeenBy.MEMBERS, name: str = "") -> Course:
    return Course.objects.create(slug=slug, name=name or slug, seen_by=seen_by, about=f"About {slug}")


@pytest.fixture(scope="module")
def hidden(shared_cast: Cast) -> Hidden:
    cast = shared_cast
    house = furnished(cast)
    made = Course.objects.get(slug=house["course"])
    Course.objects.filter(pk=made.pk).update(name=f"The {MARK} course", about=MARK, slug=MARK, seen_by=SeenBy.MEMBERS)
    made.refresh_from_db()
    for row in Environment.objects.all():
        Environment.objects.filter(pk=row.pk).update(course=made, name=f"{MARK} {row.pk}", description=MARK)
    for agent in Agent.objects.all():
        Agent.objects.filter(pk=agent.pk).update(name=f"{agent.name}-{MARK}", description=MARK)
    Tournament.objects.update(name=f"{MARK} cup")
    Announcement.objects.create(course=made, title=f"{MARK} news", text=MARK)
    dora = factories.user("dora")
    people: dict[str, User | None] = {"stranger": None, "other": dora}
    Member.objects.create(course=course("elsewhere"), user=dora)
    for role in Role:
        person = people[role.value] = factories.user(f"a-{role.value.lower()}")
        Member.objects.create(course=made, user=person, role=role)
    Member.objects.create(course=made, user=cast.charlie)
    Assignment.objects.update(name=f"{MARK} week", about=MARK)
    # Agents that play alone in a task for everyone.
    board = factories.task()
    own = [factories.ready(factories.agent(cast.alice, board, name, is_public=True)) for name in ("gerda", "hilde")]
    finals = begun(own, "score", episodes=2)
    for player in own:
        factories.evaluation(player)
        score(finals, player, MEAN)
    finals = step(finals)
    Tournament.objects.filter(pk=finals.pk).update(course=made, name=f"{MARK} final")
    # In an environment for everyone: the agents and their ratings are public, the tournament is not.
    games = factories.environment("connect-four")
    one, two = (played.ready(factories.agent(cast.alice, games, name, is_public=True)) for name in ("erna", "frida"))
    cup = played.edition([one, two], games)
    duel = played.play(played.waiting_duel(cup, one, two, 2))
    Tournament.objects.filter(pk=cup.pk).update(
        course=made, name=f"{MARK} league", is_automatic=False, state="FINISHED", ended_at=factories.NOON,
        started_at=factories.NOON,
    )  # fmt: skip
    house |= {"agent": f"anna-{MARK}", "course": made.slug, "mark": MARK}
    return Hidden(made, people, {who: session_of(one) for who, one in people.items()}, house, duel, finals)


def answer(session: str, method: str, address: str) -> tuple[int, str]:
    """Return status and text of an answer, without what the address itself says; its effects are undone."""
    response: Any = asked(session, method, address)
    content = response.read if response.streaming else response.content
    text = content.decode("utf-8", "replace") + str(response.headers)
    return response.status_code, text.replace(address.partition("?")[0], "")


def open_lines() -> Iterator[tuple[str, str, list[int]]]:
    """Yield all but the page of the join link, which names its course to people who have the link."""
    return (line for line in lines() if "{join}" not in line[1])


def houses(hidden: Hidden) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return what addresses name: all of the course, and its tournaments in an environment and a task for everyone."""
    duel, finals = hidden.aside, hidden.finals
    cup = duel.tournament
    assert cup is not None
    named = [
        hidden.house
        | {"slug": one.environment.slug, "agent": agent, "edition": one.edition, "cup_edition": one.edition}
        | {"tournament": one.pk, "cup": one.pk}
        for one, agent in ((cup, "erna"), (finals, "gerda"))
    ]
    return hidden.house, named[0] | {"duel": duel.pk}, named[1]


def gets(hidden: Hidden, who: str, house: dict[str, Any], only: str = "") -> dict[str, str]:
    """Return the texts of the pages of a house, by line. only: those that name one of these, as a pattern."""
    return {
        f"GET {address}": answer(hidden.sessions[who], method, address.format(**house))[1]
        for method, address, _ in open_lines()
        if method == "GET" and re.search(only, address)
    }


@pytest.mark.parametrize("who", OUTSIDE)
def test_nothing_of_a_closed_course_is_shown_at_any_address(hidden: Hidden, who: str) -> None:
    """An address that is the same in several houses is visited once."""
    own, aside, finals = houses(hidden)
    session, duel, cup = hidden.sessions[who], aside["duel"], aside["cup"]
    sha256 = SeedList.objects.get(tournament=hidden.finals).sha256
    told = re.compile(rf'{MARK}|{SCORE}|{sha256}|/duels/{duel}/|"tournament": ?{cup},')
    answers: dict[tuple[str, str], tuple[int, str]] = {}
    leaks = []
    for house in (own, aside, finals):
        for method, address, _ in open_lines():
            place = method, address.format(**house)
            if place not in answers:
                status, text = answers[place] = answer(session, *place)
                leaks += [f"{method} {address} ({status}): {word}" for word in told.findall(text.casefold())]
            names = set(re.findall(r"{(\w+)}", address))
            of_course = OF_TOURNAMENTS | ({"duel"} if house is aside else set())
            if house is not own and names & of_course:
                hides = (403, 302) if address.startswith("/organise/") else (302, 404, 405)
                assert answers[place][0] in hides, place
    assert leaks == []
    for name in ("duels", "jobs/duel", "tournaments"):
        rows = json.loads(answer(session, "GET", f"/api/v1/{name}/")[1].partition("{'")[0])["results"]
        assert not {row["id"] for row in rows} & {cup if name == "tournaments" else duel}, name
    cited = answer(session, "GET", f"/environments/{aside['slug']}/cite/results.csv?as_of=2099-12-31")
    assert cited[0] == 200
    assert str(hidden.aside.player_1.public_id) not in cited[1]
    for house in (aside, finals):
        assert answers["GET", f"/environments/{house['slug']}/agents/{house['agent']}/"][0] == 200


def test_members_see_what_others_do_not(hidden: Hidden) -> None:
    """The walk would find something."""
    own, _, finals = houses(hidden)
    found = {line for line, text in gets(hidden, "STUDENT", own).items() if MARK in text.casefold()}
    assert {"GET /search/?q=a", "GET /environments/{slug}/", "GET /duels/{duel}/", "GET /users/alice/"} <= found
    assert len(found) > 80
    assert hidden.finals.state == "FINISHED"
    pages = gets(hidden, "STUDENT", finals, rf"{{({'|'.join(OF_TOURNAMENTS)})}}")
    assert {line.removeprefix("GET ") for line, text in pages.items() if re.search(SCORE, text)} >= SCORED


def test_every_row_with_an_environment_has_a_path_to_its_course(hidden: Hidden) -> None:
    for model in PATHS:
        rows = model._default_manager.all()
        assert not seen(rows.filter(pk__in=rows.values("pk")), AnonymousUser()).filter(pk__lt=0).exists()
    assert not seen(
        Submission.objects.exclude(agent__environment__slug__in=("connect-four", "cart-pole")), AnonymousUser()
    ).exists()


def test_what_people_with_the_link_see_is_in_no_list(hidden: Hidden) -> None:
    try:
        Course.objects.filter(pk=hidden.course.pk).update(seen_by=SeenBy.LINK)
        pages = gets(hidden, "stranger", hidden.house, rf"^({'|'.join(map(re.escape, (*LISTS, PAGE)))})$")
        assert {line for line, text in pages.items() if MARK in text.casefold()} == {f"GET {PAGE}"}
        assert len(pages) == len(LISTS) + 1
        rows = Environment.objects.filter(course=hidden.course)
        assert seen(rows, AnonymousUser()).count() == rows.count()
        assert not listed(rows, AnonymousUser()).exists()
    finally:
        Course.objects.filter(pk=hidden.course.pk).update(seen_by=SeenBy.MEMBERS)
