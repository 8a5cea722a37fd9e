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


def walked(hidden: Hidden, who: str) -> Iterator[tuple[str, int, str]]:
    for method, address, _ in open_lines():
        yield f"{method} {address}", *answer(hidden.sessions[who], method, address.format(**hidden.house))


@pytest.mark.parametrize("who", OUTSIDE)
def test_nothing_of_a_closed_course_is_shown_at_any_address(hidden: Hidden, who: str) -> None:
    leaks = [f"{line} ({status})" for line, status, text in walked(hidden, who) if MARK in text.casefold()]
    assert leaks == []


def test_members_see_what_others_do_not(hidden: Hidden) -> None:
    """The walk would find something."""
    found = {line for line, _, text in walked(hidden, "STUDENT") if MARK in text.casefold()}
    assert {"GET /search/?q=a", "GET /environments/{slug}/", "GET /duels/{duel}/", "GET /users/alice/"} <= found
    assert len(found) > 80


@pytest.mark.parametrize("who", OUTSIDE)
def test_a_tournament_of_a_closed_course_is_hidden_on_pages_of_a_public_environment(hidden: Hidden, who: str) -> None:
    duel, cup = hidden.aside, hidden.aside.tournament
    assert cup is not None
    house = hidden.house | {
        "slug": cup.environment.slug,
        "agent": "erna",
        "duel": duel.pk,
        "edition": cup.edition,
        "cup_edition": cup.edition,
        "tournament": cup.pk,
        "cup": cup.pk,
    }
    named = (MARK, f"/duels/{duel.pk}/", f'"tournament":{cup.pk},', f'"tournament": {cup.pk},')
    leaks = []
    for method, address, _ in open_lines():
        status, text = answer(hidden.sessions[who], method, address.format(**house))
        leaks += [f"{method} {address} ({status}): {name}" for name in named if name in text.casefold()]
        if any(word in address for word in ("{duel}", "{tournament}", "{cup}", "{edition}", "{cup_edition}")):
            assert status in ((403, 302) if address.startswith("/organise/") else (302, 404, 405)), address
    assert leaks == []
    for name in ("duels", "jobs/duel", "tournaments"):
        rows = json.loads(answer(hidden.sessions[who], "GET", f"/api/v1/{name}/")[1].partition("{'")[0])["results"]
        assert not {row["id"] for row in rows} & {cup.pk if name == "tournaments" else duel.pk}, name
    cited = answer(hidden.sessions[who], "GET", f"/environments/{house['slug']}/cite/results.csv?as_of=2099-12-31")
    assert cited[0] == 200
    assert str(duel.player_1.public_id) not in cited[1]
    assert answer(hidden.sessions[who], "GET", f"/environments/{house['slug']}/agents/erna/")[0] == 200


@pytest.mark.parametrize("who", OUTSIDE)
def test_scores_of_a_closed_course_are_hidden_on_pages_of_a_public_task(hidden: Hidden, who: str) -> None:
    finals = hidden.finals
    assert finals.state == "FINISHED"
    house = hidden.house | {
        "slug": finals.environment.slug,
        "agent": "gerda",
        "edition": finals.edition,
        "cup_edition": finals.edition,
        "tournament": finals.pk,
        "cup": finals.pk,
    }
    sha256 = SeedList.objects.get(tournament=finals).sha256
    # Not within a longer number, or an id that is made by chance.
    told = re.compile(rf"{MARK}|(?<![\w.-])98,?76[456](?![\w-])|{sha256}")
    for session, is_inside in ((hidden.sessions[who], False), (hidden.sessions["STUDENT"], True)):
        found = [
            (address, status, told.findall(text.casefold()))
            for method, address, _ in open_lines()
            if method == "GET"
            for status, text in [answer(session, method, address.format(**house))]
        ]
        assert {address for address, _, is_told in found if is_told} >= (SCORED if is_inside else set())
        assert is_inside or not [line for line in found if line[2]]
        of_it = [line for line in found if re.search(r"{(tournament|cup|edition|cup_edition)}", line[0])]
        assert is_inside or {status for address, status, _ in of_it if not address.startswith("/organise/")} <= {
            302,
            404,
            405,
        }
    assert answer(hidden.sessions[who], "GET", f"/environments/{house['slug']}/agents/gerda/")[0] == 200


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
        shown = {line for line, _, text in walked(hidden, "stranger") if MARK in text.casefold()}
        assert "GET /environments/{slug}/" in shown
        assert not {"GET /", "GET /search/?q=a", "GET /sitemap.xml", "GET /users/alice/", "GET /live/"} & shown
        rows = Environment.objects.filter(course=hidden.course)
        assert seen(rows, AnonymousUser()).count() == rows.count()
        assert not listed(rows, AnonymousUser()).exists()
    finally:
        Course.objects.filter(pk=hidden.course.pk).update(seen_by=SeenBy.MEMBERS)
