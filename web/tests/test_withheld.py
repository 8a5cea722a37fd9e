"""Results that are withheld are told nowhere: every address that shows duels or places, by who asks."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import resolve

from core.models import Agent, Duel, Environment, JobState, Sitting, Tournament, TournamentState, User
from core.tests import factories
from core.tests.factories import NOON, Cast
from core.tournaments.plans import plan_save
from web.conftest import As
from web.site.urls import EDITION
from web.tests import drawn
from web.tests.arena import staged
from web.tests.test_access import routes
from web.watching.topics import look

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CLOSED = (
    "/environments/{slug}/editions/1/agents/anna/",
    "/duels/{duel}/",
    "/duels/{duel}/matches/1/",
    "/duels/{duel}/matches/1/frames.json",
    "/duels/{duel}/matches/1/from/2/",
    "/duels/{duel}/matches/1/analysis/",
    "/duels/{duel}/matches/1/playouts/",
    "/duels/{duel}/matches/1/replay.json",
    "/duels/{duel}/matches/1/replay.html",
    "/duels/{duel}/results.json.gz",
    "/duels/{duel}/records.zip",
    "/duels/{duel}/logs/arena/",
    "/api/v1/tournaments/{tournament}/participants/",
    "/api/v1/tournaments/{tournament}/standing/",
    "/api/v1/duels/{duel}/",
    "/api/v1/duels/{duel}/matches/",
    "/api/v1/duels/{duel}/matches/1/",
    "/api/v1/duels/{duel}/matches/1/replay/",
    "/api/v1/jobs/duel/{duel}/",
    "/api/v1/jobs/duel/{duel}/log/",
)
"""Addresses that answer 403 to whom the results are withheld from."""
SILENT = {
    "/environments/{slug}/editions/1/": 'class="board"',
    "/environments/{slug}/agents/anna/": "/editions/1/",
    "/api/v1/duels/": '"outcome"',
    "/api/v1/duels/?tournament={tournament}": '"outcome"',
}
"""Addresses that answer all visitors, and what stands there only for those who see the results."""
PUBLIC_ALONE = {
    "/": 'class="featured"',
    "/live/": "anna",
    "/environments/{slug}/tournaments/": "won by",
    "/environments/{slug}/seasons/{season}/": "anna",
    "/api/v1/seasons/{season}/table/": "anna",
}
"""Addresses that are the same for all, so they tell only what all visitors see."""
FOR_VISITORS = ("embed/duels/<int:duel_id>/matches/<int:number>/", "tournaments/", EDITION + "screen/")
"""Addresses that tell everyone what visitors may see: test_replay_files.py, test_calendar.py and test_screen.py look at
them."""
TELL_NOTHING = ("register/", "withdraw/", "exchange/", "api/v1/tournaments/", "api/v1/tournaments/<int:pk>/",
                "registrations/", "registrations/<int:agent_id>/", "picture/<uuid:picture>/")  # fmt: skip
"""How other addresses of tournaments end: they tell of plans alone."""
ORDERS = ("analyse/", "acts/<slug:name>/", "acts/picture/", "why/<int:player>/", "sit/", "play/", "playouts/new/")
"""How addresses end that take orders alone."""
SEEN_BY = {"PUBLIC": ("nobody", "erik", "alice", "olga"), "PARTICIPANTS": ("alice", "olga"), "HIDDEN": ("olga",)}
"""anna is alice's; erik takes no part; olga organises."""
AT_THE_BORDER = {"PUBLIC": ("nobody",), "PARTICIPANTS": ("erik", "alice"), "HIDDEN": ("alice", "olga")}
"""Those who are let in with the least rights, and those kept out with the most. The others are asked every night."""


@pytest.fixture(scope="module")
def places(shared_cast: Cast, shared_environment: Environment) -> dict[str, object]:
    environment = shared_environment
    stage = staged(shared_cast, environment, match_count=4)
    season = environment.seasons.create(name="autumn", begins_at=NOON, ends_at=NOON.replace(year=2027))
    standing = drawn.standing([stage.anna.pk, stage.berta.pk])
    Tournament.objects.update(state=TournamentState.FINISHED, ended_at=NOON, season=season)
    for tournament in Tournament.objects.all():
        plan_save(tournament=tournament, planned=standing)
    return {
        "slug": environment.slug, "duel": stage.duel.pk, "tournament": stage.tournament.pk, "season": season.pk
    }  # fmt: skip


@pytest.fixture
def people(cast: Cast) -> dict[str, User | None]:
    return {"nobody": None, "erik": factories.user("erik"), "alice": cast.alice, "olga": cast.olga}


def answer(client: Client, address: str) -> tuple[int, str]:
    # What one was told another must be, too.
    response = client.get(address)
    content = b"".join(response) if response.streaming else response.content
    return response.status_code, content.decode(errors="replace")


@pytest.mark.parametrize("results", ["PARTICIPANTS", "HIDDEN"])
def test_playouts_of_a_match_are_for_those_who_see_it(
    places: dict[str, object], people: dict[str, User | None], visit: As, results: str
) -> None:
    Tournament.objects.update(results=results)
    address = f"/duels/{places['duel']}/matches/1/playouts/new/"
    for name in ("erik", "alice", "olga"):
        given = visit(people[name]).get(address).status_code
        assert given == (200 if name in SEEN_BY[results] else 403), name


def test_every_address_of_duels_and_places_is_in_the_tables(places: dict[str, object]) -> None:
    named = {resolve(address.format(**places).partition("?")[0]).route for address in (*CLOSED, *SILENT, *PUBLIC_ALONE)}
    words = ("duels/", "editions/", "tournaments/", "seasons/<int:pk>/table")
    # The rest is for organisers, who see all.
    pages = (route for route in routes() if route.endswith("/") and not route.startswith(("admin/", "organise/")))
    telling = [route for route in pages if any(word in route for word in words)]
    # A player's log is for those who may see its agent's source, see below.
    known = {*named, *FOR_VISITORS}
    others = [route for route in telling if route not in known and not route.endswith((*TELL_NOTHING, *ORDERS))]
    assert others == []


def test_no_order_about_a_held_back_match_is_taken(
    places: dict[str, object], visit: As, people: dict[str, User | None]
) -> None:
    Tournament.objects.update(results="HIDDEN")
    client = visit(people["erik"])
    for order in ("analyse/", "from/2/sit/", "from/2/play/"):
        answer = client.post(f"/duels/{places['duel']}/matches/1/{order}", {"agent": "anna", "agent_1": "anna"})
        assert (order, answer.status_code) == (order, 403)


def test_nothing_that_everyone_sees_goes_on_from_a_held_back_match(
    places: dict[str, object], visit: As, people: dict[str, User | None]
) -> None:
    Agent.objects.update(opponents="EVERYONE", owner=people["alice"])
    client = visit(people["alice"])
    here = f"/duels/{places['duel']}/matches/1/"
    for results, made in (("PARTICIPANTS", 0), ("PUBLIC", 1)):
        Tournament.objects.update(results=results)
        assert (f"{here}from/" in client.get(here).content.decode()) is bool(made)
        client.post(f"{here}from/2/sit/", {"agent": "berta"})
        client.post(f"{here}from/2/play/", {"agent_1": "anna", "agent_2": "berta"})
        assert (Sitting.objects.count(), Duel.objects.filter(origin__isnull=False).count()) == (made, made)


@pytest.mark.parametrize("results", ["PUBLIC", "PARTICIPANTS", pytest.param("HIDDEN", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("is_border", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_every_address_tells_results_to_those_who_may_see_them_alone(
    places: dict[str, object], people: dict[str, User | None], visit: As, results: str, is_border: bool
) -> None:
    Tournament.objects.update(results=results)
    wrong = []
    for name, person in people.items():
        if (name in AT_THE_BORDER[results]) is not is_border:
            continue
        client, sees = visit(person), name in SEEN_BY[results]
        for address in CLOSED:
            status, content = answer(client, address.format(**places))
            if status != (200 if sees else 403) or (not sees and "until they are released" not in content):
                wrong.append(f"{name}: {address} gives {status}")
        for address, told in (*SILENT.items(), *PUBLIC_ALONE.items()):
            cache.clear()
            status, content = answer(client, address.format(**places))
            expected = sees if address in SILENT else results == "PUBLIC"
            if status != 200 or (told in content) != expected:
                wrong.append(f"{name}: {address} gives {status} and tells: {told in content}")
    assert wrong == []


def test_a_players_own_log_is_held_back_from_its_owner_as_well(
    places: dict[str, object], cast: Cast, visit: As
) -> None:
    address = "/duels/{duel}/logs/player_1/".format(**places)
    assert answer(visit(cast.alice), address)[0] == 200
    Tournament.objects.update(results="HIDDEN")
    assert answer(visit(cast.alice), address)[0] == 403
    assert answer(visit(cast.olga), address)[0] == 200


@pytest.mark.parametrize(
    ("column", "seen_by"),
    [
        ("revealed_to_all", ("nobody", "erik", "alice")),
        pytest.param("revealed_to_participants", ("alice",), marks=pytest.mark.nightly),
    ],
)
def test_a_revealed_round_shows_its_own_duels_and_nothing_that_lists_all(
    places: dict[str, object], people: dict[str, User | None], visit: As, column: str, seen_by: tuple[str, ...]
) -> None:
    Tournament.objects.update(results="HIDDEN", **{column: 1})
    wrong = []
    for number in (1, 2):
        Duel.objects.update(round=number)
        for name in ("nobody", "erik", "alice"):
            client, sees = visit(people[name]), name in seen_by
            for address in CLOSED:
                # What stood after the first round may be seen, however many rounds there are.
                is_open = sees and (number == 1 if "{duel}" in address else "standing" in address)
                if (status := answer(client, address.format(**places))[0]) != (200 if is_open else 403):
                    wrong.append(f"{name}, round {number}: {address} gives {status}")
            for address, told in (*SILENT.items(), *PUBLIC_ALONE.items()):
                cache.clear()
                if told in answer(client, address.format(**places))[1]:
                    wrong.append(f"{name}, round {number}: {address} tells")
    assert wrong == []


def test_no_stream_follows_a_duel_of_a_round_that_is_not_released(places: dict[str, object]) -> None:
    factories.moved(Duel.objects.all(), JobState.RUNNING)
    topic = f"duels/{places['duel']}"
    assert look(topic) is not None
    Tournament.objects.update(results="HIDDEN", revealed_to_all=1)
    assert look(topic) is None
