"""Answers to strangers, kept for as long as the version of what they show."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import time_machine
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.http import http_date

from core import resolving
from core.jobs.states import OPEN
from core.models import (
    Agent,
    Audience,
    Course,
    Duel,
    Environment,
    EnvironmentKind,
    JobState,
    LedgerVoid,
    Opponents,
    Rating,
    SeenBy,
    Submission,
    Tournament,
    TournamentState,
    User,
)
from core.people.tokens import token_create
from core.submissions import descriptions, naming
from core.tests import factories
from core.tests.factories import Cast
from core.watching.shown import LIST_SECONDS, everything_shown
from web.conftest import As
from web.site.kept import CACHE_CONTROL, VARY
from web.tests.arena import Stage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_answers")]
Moment = time_machine.Traveller


@pytest.fixture
def at() -> Iterator[Moment]:
    with time_machine.travel(timezone.now(), tick=False) as moment:
        yield moment


@pytest.fixture
def played(stage: Stage) -> Agent:
    return Agent.objects.get(name="anna")


def _end() -> None:
    """Let nothing move any more, so that answers are kept for longest."""
    Duel.objects.filter(state__in=OPEN).delete()
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=timezone.now())
    Environment.objects.update(kind=EnvironmentKind.RULES)
    assert everything_shown().seconds == LIST_SECONDS
    caches["answers"].clear()


def _page(agent: Agent) -> str:
    return f"/environments/{agent.environment.slug}/agents/{agent.name}/"


def test_strangers_share_one_answer_with_one_tag_and_then_have_304(cast: Cast, at: Moment) -> None:
    still = factories.ready(factories.agent(cast.alice, factories.environment("connect-four-v1"))).agent
    first, begun = Client().get(_page(still)), http_date(timezone.now().timestamp())
    at.shift(30)
    with CaptureQueriesContext(connection) as queries:
        again = Client().get(_page(still))
    # The versions of the environment and the agent, and nothing of the page.
    assert len(queries) <= 15
    assert (again.content, again["ETag"]) == (first.content, first["ETag"])
    assert again["Last-Modified"] == first["Last-Modified"] == begun
    assert again["Cache-Control"] == CACHE_CONTROL
    assert again.headers.keys() >= {"Content-Security-Policy", "Permissions-Policy", "Vary", "X-Frame-Options"}
    unchanged = Client().get(_page(still), headers={"If-None-Match": first["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


@pytest.mark.parametrize(
    ("accepted", "is_gzip"),
    [("gzip, deflate, br", True), ("br;q=1.0, gzip;q=0.8", True), ("identity", False), ("gzip;q=0, br", False)],
)
def test_a_kept_page_comes_as_gzip_to_readers_who_take_that(accepted: str, is_gzip: bool, played: Agent) -> None:
    plain = Client().get(_page(played))
    found = Client().get(_page(played), headers={"Accept-Encoding": accepted})
    assert (found.get("Content-Encoding") == "gzip") == is_gzip
    assert (gzip.decompress(found.content) if is_gzip else found.content) == plain.content
    assert "Accept-Encoding" in found["Vary"]
    for answer in (plain, found):
        assert answer["Content-Length"] == str(len(answer.content))
    unchanged = Client().get(_page(played), headers={"Accept-Encoding": accepted, "If-None-Match": plain["ETag"]})
    assert unchanged.status_code == 304


@pytest.mark.parametrize("first", ["gzip", "identity"])
def test_frames_that_their_view_compresses_are_kept_for_readers_of_both_kinds(first: str, stage: Stage) -> None:
    address = f"/duels/{stage.duel.pk}/matches/1/frames.json"
    answers = [Client().get(address, headers={"Accept-Encoding": way}) for way in (first, "gzip", "identity", "gzip")]
    for answer in answers:
        is_gzip = answer.get("Content-Encoding") == "gzip"
        assert is_gzip == (answer.request["HTTP_ACCEPT_ENCODING"] == "gzip")
        assert answer["ETag"] == answers[0]["ETag"]
        assert answer["Content-Length"] == str(len(answer.content))
        assert json.loads(gzip.decompress(answer.content) if is_gzip else answer.content)["frames"]


def test_within_a_second_a_kept_page_costs_the_rows_of_the_agent_alone(played: Agent, at: Moment) -> None:
    Client().get(_page(played))
    with CaptureQueriesContext(connection) as queries:
        Client().get(_page(played))
    assert len(queries) <= 5
    with CaptureQueriesContext(connection) as queries:
        assert Client().get("/").status_code == Client().get("/").status_code == 200
        before = len(queries)
        Client().get("/")
        assert len(queries) == before


def _rename(agent: Agent) -> None:
    naming.agent_rename(agent=agent, name="hanna")


def _rest(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(is_resting=True)


def _delete(agent: Agent) -> None:
    """Its versions were deleted one by one before."""
    Agent.objects.filter(pk=agent.pk).update(deleted_at=timezone.now())


def _bar(agent: Agent) -> None:
    User.objects.filter(pk=agent.owner_id).update(is_active=False)


def _upload(agent: Agent) -> None:
    factories.ready(agent)


def _close(agent: Agent) -> None:
    Environment.objects.filter(pk=agent.environment_id).update(is_active=False)


@pytest.mark.parametrize("change", [_rename, _rest, _bar, _upload, _close])
def test_the_board_shows_a_change_to_strangers_after_a_second(
    change: Callable[[Agent], None], played: Agent, at: Moment
) -> None:
    board = f"/environments/{played.environment.slug}/"
    before = Client().get(board).content
    change(played)
    at.shift(1)
    kept = Client().get(board).content
    caches["answers"].clear()
    assert kept == Client().get(board).content != before


def _play(agent: Agent) -> None:
    tournament = Tournament.objects.filter(environment=agent.environment)[0]
    versions = list(Submission.objects.filter(agent__environment=agent.environment)[:2])
    factories.duel(tournament, *versions, number=999, state=JobState.SUCCEEDED)


def _hide(agent: Agent) -> None:
    Tournament.objects.filter(environment=agent.environment).update(results=Audience.HIDDEN)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_rename, "agents duels"),
        (_rest, "agents"),
        (_delete, "agents"),
        (_bar, "agents"),
        (_upload, "agents"),
        (_close, "environments"),
        (_play, "duels"),
        (_hide, "tournaments duels"),
    ],
)
def test_the_lists_of_the_api_show_a_change_to_strangers_after_a_second(
    change: Callable[[Agent], None], named: str, played: Agent, at: Moment
) -> None:
    _end()
    names = ("agents", "duels", "environments", "evaluations", "ratings", "tournaments")
    addresses = [*(f"/api/v1/{name}/" for name in names), "/api/leaderboard/"]
    before = {address: Client().get(address).content for address in addresses}
    change(played)
    at.shift(1)
    kept = {address: Client().get(address).content for address in addresses}
    caches["answers"].clear()
    assert kept == {address: Client().get(address).content for address in addresses}
    changed = {address for address in addresses if kept[address] != before[address]}
    assert changed >= {f"/api/v1/{name}/" for name in named.split()}


def test_strangers_see_nothing_of_a_course_a_second_after_it_is_closed(stage: Stage, at: Moment) -> None:
    course = Course.objects.create(slug="rl", name="RL", seen_by=SeenBy.EVERYONE)
    Tournament.objects.filter(pk=stage.tournament.pk).update(course=course)
    Environment.objects.filter(pk=stage.environment.pk).update(course=course)
    _end()
    board, api = f"/environments/{stage.environment.slug}/", f"/api/v1/duels/{stage.duel.pk}/"
    addresses = (board, f"{board}agents/anna/", f"/duels/{stage.duel.pk}/matches/1/", api, f"{api}matches/1/")
    for address in addresses:
        assert "ETag" in Client().get(address).headers
    listed = Client().get("/api/v1/agents/").json()["count"]
    # By its row alone, as no writer has to remember what is kept.
    Course.objects.filter(pk=course.pk).update(seen_by=SeenBy.MEMBERS)
    at.shift(1)
    assert {address: Client().get(address).status_code for address in addresses} == dict.fromkeys(addresses, 404)
    assert Client().get("/api/v1/agents/").json()["count"] < listed


def test_a_planned_tournament_is_shown_anew_when_its_registration_opens_and_closes(stage: Stage, at: Moment) -> None:
    _end()
    opens, closes = (timezone.now() + timedelta(seconds=seconds) for seconds in (60, 120))
    late = closes + timedelta(days=1)
    planned = factories.planned(stage.environment, starts_at=late, freezes_at=closes)
    Tournament.objects.filter(pk=planned.pk).update(registration_opens_at=opens, registration_closes_at=closes)
    caches["answers"].clear()
    address = f"/environments/{stage.environment.slug}/editions/{planned.edition}/"
    tags = [Client().get(address).headers["ETag"]]
    for _ in range(2):
        at.shift(61)
        tags.append(Client().get(address).headers["ETag"])
    assert len({*tags}) == 3


def test_a_list_is_made_once_in_five_seconds_while_nothing_changes(played: Agent, at: Moment) -> None:
    _end()
    Client().get("/api/v1/agents/")
    for seconds, is_made in ((4, False), (2, True)):
        at.shift(seconds)
        with CaptureQueriesContext(connection) as queries:
            Client().get("/api/v1/agents/")
        assert any('"core_agent"."description"' in query["sql"] for query in queries) == is_made


def test_the_page_of_an_agent_shows_its_own_changes_at_once(played: Agent, at: Moment) -> None:
    Client().get(_page(played))
    descriptions.agent_describe(agent=played, description="It looks two moves ahead.")
    assert b"two moves ahead" in Client().get(_page(played)).content


def test_what_a_person_is_shown_is_kept_for_no_other(cast: Cast, played: Agent, visit: As) -> None:
    _, token = token_create(owner=cast.alice, name="laptop", now=timezone.now())
    for address in ("/", _page(played), f"/environments/{played.environment.slug}/", "/api/v1/environments/"):
        own = visit(cast.alice).get(address)
        by_token = Client().get(address, headers={"Authorization": f"Bearer {token}"})
        # Programs that ask the API again get 304; their answers are private all the same.
        assert address.startswith("/api/") or "ETag" not in own.headers.keys() | by_token.headers.keys()
        assert not address.startswith("/api/") or "private" in by_token["Cache-Control"]
        assert b"Log out" not in Client().get(address).content
        assert "private" in visit(cast.alice).get(address)["Cache-Control"]


def test_an_agent_that_all_may_play_has_one_page_for_all_strangers(played: Agent) -> None:
    played.opponents = Opponents.EVERYONE
    played.save()
    page = Client().get(_page(played))
    assert "ETag" in page.headers
    assert not page.cookies
    assert f'href="/play/{played.name}/#{played.environment.slug}">Play</a>' in page.content.decode()


def test_a_page_with_a_token_against_forgery_is_kept_for_nobody(cast: Cast) -> None:
    first, second = Client().get("/login/"), Client().get("/login/")
    assert "ETag" not in first.headers
    assert first.cookies["csrftoken"].value != second.cookies["csrftoken"].value


def test_neither_a_refusal_nor_a_page_with_any_query_is_kept(played: Agent) -> None:
    board = f"/environments/{played.environment.slug}/"
    for address in (f"{board}agents/not-there/", "/duels/99999999/", f"{board}?search=anna", f"{board}?page=1&x=2"):
        assert "ETag" not in Client().get(address).headers
    assert "ETag" in Client().get(f"{board}?page=1").headers


@pytest.mark.parametrize("path", ["/users/%00/", "/environments/{}/agents/a%00b/"])
def test_a_name_that_no_database_stores_is_not_found(played: Agent, path: str) -> None:
    # The client of the test unquotes a path as a server does.
    assert Client().get(path.format(played.environment.slug)).status_code == 404


def test_long_paths_fill_no_memory(played: Agent) -> None:
    resolving._kept.cache_clear()
    for number in range(5):
        assert Client().get(f"/users/{number}{'x' * 200}/").status_code == 404
        assert Client().get(f"/environments/{number}{'x' * 4000}/").status_code == 404
    assert resolving._kept.cache_info().currsize == 0
    Client().get(_page(played))
    assert resolving._kept.cache_info().currsize == 1


def test_each_host_and_each_part_has_an_answer_of_its_own(played: Agent, settings: object) -> None:
    board = f"/environments/{played.environment.slug}/"
    whole = Client().get(board)
    part = Client().get(board, headers={"HX-Request": "true", "HX-Target": "leaderboard"})
    duel = Duel.objects.filter(player_1__agent=played)[0]
    for address in (board, _page(played), f"/duels/{duel.pk}/"):
        # nginx keeps one answer for each.
        assert "HX-Target" in Client().get(address)["Vary"]
    assert b"<html" in whole.content
    assert b"<html" not in part.content
    assert b"<html" in Client().get(board).content
    assert Client().get(board, headers={"Host": "elsewhere.example"}).status_code == 400


def _void(duel: Duel) -> None:
    LedgerVoid.objects.create(duel=duel, reason="a test")


def _withhold(duel: Duel) -> None:
    Tournament.objects.filter(duels=duel).update(results=Audience.HIDDEN)


def _open(duel: Duel) -> None:
    Agent.objects.filter(pk=duel.player_1.agent_id).update(is_public=True)


@pytest.mark.parametrize("change", [_void, _withhold, _open])
def test_what_changes_a_duel_changes_its_pages_and_its_api_at_once(
    change: Callable[[Duel], None], stage: Stage, at: Moment
) -> None:
    page, match, api = (f"{root}/duels/{stage.duel.pk}/" for root in ("", "", "/api/v1"))
    addresses = page, f"{match}matches/1/", f"{api}matches/1/"
    tags = [Client().get(address)["ETag"] for address in addresses]
    change(stage.duel)
    again = [Client().get(address) for address in addresses]
    caches["answers"].clear()
    assert [row.content for row in again] == [Client().get(address).content for address in addresses]
    assert [row.headers.get("ETag") for row in again] != tags


def test_an_upload_and_another_rating_leave_a_duel_as_it_is_kept(stage: Stage, at: Moment) -> None:
    page = f"/duels/{stage.duel.pk}/"
    first = Client().get(page)
    factories.ready(stage.clara.agent)
    Rating.objects.filter(submission=stage.clara).update(value=1999.0)
    at.shift(30)
    with CaptureQueriesContext(connection) as queries:
        assert Client().get(page).content == first.content
    # Two of the duel and eleven of the environment.
    assert len(queries) <= 13


def test_the_list_of_an_agents_duels_is_kept_until_it_has_another(stage: Stage, at: Moment) -> None:
    address = f"/api/v1/duels/?agent={stage.anna.agent_id}"
    before = Client().get(address).json()["count"]
    at.shift(30)
    with CaptureQueriesContext(connection) as queries:
        assert Client().get(address).json()["count"] == before
    assert not any("COUNT(" in query["sql"] and "player_1_wins" in query["sql"] for query in queries)
    factories.duel(stage.tournament, stage.anna, stage.clara, number=99, state=JobState.QUEUED)
    assert Client().get(address).json()["count"] == before + 1
    for wrong in ("x", "0", "9" * 30):
        assert "ETag" not in Client().get(f"/api/v1/duels/?agent={wrong}").headers


def test_an_unchanged_page_may_be_kept_by_nginx_as_long_as_a_new_one(played: Agent, at: Moment) -> None:
    first = Client().get(_page(played))
    again = Client().get(_page(played), headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again["Cache-Control"]) == (304, first["Cache-Control"])


@pytest.mark.parametrize(
    "path", ["/environments/{slug}/", "/environments/{slug}/agents/anna/", "/api/v1/agents/{key}/"]
)
def test_what_strangers_may_no_longer_see_takes_the_place_of_the_page_in_nginx(played: Agent, path: str) -> None:
    address = path.format(slug=played.environment.slug, key=played.pk)
    before = Client().get(address)
    assert before.status_code == 200
    Environment.objects.update(course=Course.objects.create(slug="closed", seen_by=SeenBy.MEMBERS))
    caches["answers"].clear()
    gone = Client().get(address)
    assert gone.status_code == 404
    assert gone["Cache-Control"] == before["Cache-Control"] == CACHE_CONTROL
    assert {*gone["Vary"].split(", ")} >= {*VARY}
    assert not any(name.startswith("X-RateLimit") for name in gone.headers)


def test_nginx_keeps_no_mistake_of_the_site_in_place_of_a_page(played: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.submissions.agent_page.agent_parts", lambda *_: 1 / 0)
    wrong = Client(raise_request_exception=False).get(_page(played))
    assert wrong.status_code == 500
    assert "Cache-Control" not in wrong


def test_a_person_sees_the_error_of_a_form_again(cast: Cast, visit: As, played: Agent) -> None:
    bob, address = visit(cast.bob), f"/environments/{played.environment.slug}/?as_of=soon"
    assert [bob.get(address).status_code for _ in range(2)] == [400, 400]
