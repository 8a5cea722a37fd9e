"""Pages and streams of what is played now, by who looks at them."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache, caches
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.registry import get_spec
from arena_kit.referee.match import pair_seed
from core.models import Audience, Duel, JobState, Sitting, ToldMoves, WatchedDuel
from core.tests import factories
from core.tests.factories import Cast
from core.watching.selectors import DELAY
from web.conftest import As
from web.tests import played
from web.watching.stream import MOST_TOPICS, Streams
from web.watching.topics import BOARDS_SECONDS, Told, look

pytestmark = pytest.mark.django_db
PEOPLE = {"PUBLIC": "nobody erik alice olga", "PARTICIPANTS": "alice olga", "HIDDEN": "olga"}
"""Who may see the duels of a tournament by its audience. anna is alice's; erik takes no part; olga organises."""


@pytest.fixture
def duel(cast: Cast) -> Duel:
    """A running duel of anna and berta: match 1 is told, and of match 2 two moves."""
    environment = factories.environment("connect-four")
    players = [
        factories.ready(factories.agent(owner, environment, name))
        for owner, name in ((cast.alice, "anna"), (cast.bob, "berta"))
    ]
    duel = factories.duel(played.edition(players, environment), *players, number=1, state=JobState.RUNNING)
    spec = get_spec(duel.environment_version)
    over, playing = (played.random_match(spec, number, pair_seed(duel.seed, 0)) for number in (1, 2))
    told = {"duel": duel, "claim_token": duel.claim_token, "begin": 0}
    outcome = {"outcome": over.outcome.value, "score_1": over.scores[0], "score_2": over.scores[1]}
    ToldMoves.objects.create(match=1, actions=list(over.actions), **told, **outcome)
    long_ago = timezone.now() - DELAY - timedelta(seconds=1)
    ToldMoves.objects.create(match=2, actions=list(playing.actions[:8]), is_followed=True, told_at=long_ago, **told)
    Duel.objects.filter(pk=duel.pk).update(matches_done=1)
    duel.refresh_from_db()
    return duel


def text(client: Client, address: str) -> str:
    cache.clear()
    return client.get(address).content.decode()


def test_a_running_duel_shows_its_finished_matches_and_the_moves_of_one(client: Client, duel: Duel) -> None:
    page = text(client, f"/duels/{duel.pk}/")
    assert f'href="/duels/{duel.pk}/matches/1/"' in page
    assert "Match 2, 10 seconds ago" in page
    winner = ToldMoves.objects.get(match=1).outcome
    won = "anna v1 1, berta v1 0" if winner == "PLAYER_1" else "anna v1 0, berta v1 1"
    assert f"Matches won so far: {won}." in page
    assert f"1 of {duel.match_count} matches played" in page
    assert "data:image/svg+xml;base64" in page
    assert "Reload the page" in page
    match = text(client, f"/duels/{duel.pk}/matches/1/")
    assert "The duel is still being played" in match
    # What others link to is the record, which does not exist yet.
    assert "og:image" not in match
    assert "Go on from here" not in match
    assert len(client.get(f"/duels/{duel.pk}/matches/1/frames.json").json()["frames"]) > 7
    refused = client.get(f"/duels/{duel.pk}/matches/2/")
    assert (refused.status_code, b"is not over yet" in refused.content) == (409, True)
    assert client.get(f"/duels/{duel.pk}/matches/1/replay.json").status_code == 409


def test_a_page_that_shows_a_running_duel_has_its_worker_tell_of_it(client: Client, duel: Duel) -> None:
    text(client, f"/duels/{duel.pk}/")
    assert WatchedDuel.objects.get().duel == duel
    WatchedDuel.objects.all().delete()
    text(client, "/live/")
    assert WatchedDuel.objects.get().duel == duel


@pytest.mark.parametrize("results", Audience.values)
def test_what_is_played_is_told_to_those_who_may_see_the_results_alone(
    duel: Duel, cast: Cast, visit: As, results: str
) -> None:
    tournament = duel.its_tournament
    tournament.results = results
    tournament.save()
    people = {"nobody": None, "erik": factories.user("erik"), "alice": cast.alice, "olga": cast.olga}
    wrong = []
    for name, person in people.items():
        client, sees = visit(person), name in PEOPLE[results].split()
        for address in ("", "matches/1/", "matches/1/frames.json"):
            status = client.get(f"/duels/{duel.pk}/{address}").status_code
            if status != (200 if sees else 403):
                wrong.append(f"{name}: {address} gives {status}")
        # What everyone sees alike tells of public results alone.
        for address in ("/live/", "/"):
            page = text(client, address)
            # Her own agents stand on the home page of alice in any case.
            is_told = re.search(r"anna(?: v1)? against", page) is not None
            if is_told != (results == "PUBLIC"):
                wrong.append(f"{name}: {address} names the duel of anna: {is_told}")
    assert wrong == []
    cache.clear()
    assert (look(f"duels/{duel.pk}") is not None) == (results == "PUBLIC")
    wall = look("wall")
    assert wall is not None
    assert ("anna" in wall.parts["wall"]) == (results == "PUBLIC")


def test_a_stream_that_runs_ends_when_results_are_held_back(duel: Duel) -> None:
    assert look(f"duels/{duel.pk}") is not None
    tournament = duel.its_tournament
    tournament.results = Audience.HIDDEN
    tournament.save()
    assert look(f"duels/{duel.pk}") is None


def test_duels_of_a_closed_environment_are_in_no_stream_and_not_on_the_wall(duel: Duel) -> None:
    environment = duel.environment
    environment.is_active = False
    environment.save()
    cache.clear()
    wall = look("wall")
    assert wall is not None
    assert "anna" not in wall.parts["wall"]
    assert look(f"duels/{duel.pk}") is None
    assert look("duels/999999999999999999") is None


def test_the_stream_of_a_duel_brings_its_board_and_ends_with_it(duel: Duel) -> None:
    told = look(f"duels/{duel.pk}")
    assert told is not None
    assert "Match 2, 10 seconds ago" in told.parts["live-board"]
    assert (told.progress, told.is_over) == ("RUNNING 1", False)
    factories.moved(Duel.objects.all(), JobState.SUCCEEDED)
    told = look(f"duels/{duel.pk}")
    assert told == Told({}, "SUCCEEDED", is_over=True)


def test_pages_name_a_stream_only_where_a_process_serves_it(client: Client, duel: Duel, settings: Settings) -> None:
    settings.EVENTS_URL = ""
    assert "data-events" not in text(client, "/live/")
    settings.EVENTS_URL = "http://127.0.0.1:8001/events"
    caches["answers"].clear()
    assert 'data-events="http://127.0.0.1:8001/events/wall"' in text(client, "/live/")
    assert f'data-events="http://127.0.0.1:8001/events/duels/{duel.pk}"' in text(client, f"/duels/{duel.pk}/")


def test_polling_without_streams_costs_a_304_while_nothing_changes(client: Client, duel: Duel) -> None:
    ann = Client()
    ann.force_login(duel.player_1.agent.owner)
    for part, path in (("wall", "/live/"), ("duel", f"/duels/{duel.pk}/")):
        for visitor in (client, ann):
            caches["answers"].clear()
            seen = visitor.get(path, headers={"HX-Request": "true", "HX-Target": part})
            asked = {"HX-Request": "true", "HX-Target": part, "If-None-Match": seen["ETag"]}
            answer = visitor.get(path, headers=asked)
            assert (seen.status_code, answer.status_code, answer.content) == (200, 304, b""), path
    Duel.objects.filter(pk=duel.pk).update(matches_done=duel.matches_done + 1)
    caches["answers"].clear()
    assert ann.get(path, headers=asked).status_code == 200


def test_an_arena_where_nothing_is_played_says_so(client: Client) -> None:
    page = text(client, "/live/")
    assert "No duel is being played" in page
    assert "No tournament is running" in page


# --- The process of the streams -------------------------------------------------------------------------------


@dataclass
class Visitor:
    """A client that opens a stream; reads its parts while `reads`, and closes it at `leave`."""

    path: str = "/events/wall"
    reads: bool = True
    address: str = "198.51.100.1"
    got: list[str] = field(default_factory=list)
    status: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["body"]:
            if not self.reads:
                # As a socket whose buffer is full.
                await asyncio.Event().wait()
            self.got.append(message["body"].decode())

    async def visit(self, streams: Streams) -> None:
        scope = {"type": "http", "path": self.path, "method": "GET", "client": (self.address, 1)}
        await streams(scope, self.receive, self.send)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110  (what it waits for has no event)
            await asyncio.sleep(0.001)


def test_two_hundred_slow_and_closed_streams_hold_up_no_other(settings: Settings) -> None:
    count = 0

    def counted(_: str) -> Told:
        nonlocal count
        count += 1
        return Told({"wall": f"<p>{count}</p>"})

    async def scene() -> None:
        streams = Streams(counted, look_seconds=0.001)
        slow, closed, reader = [Visitor(reads=False) for _ in range(100)], [Visitor() for _ in range(100)], Visitor()
        everyone = [*slow, *closed, reader]
        visits = [asyncio.create_task(one.visit(streams)) for one in everyone]
        await until(lambda: all(one.got for one in closed))
        for one in closed:
            one.left.set()
        await until(lambda: all(visit.done() for visit in visits[100:200]))
        before = len(reader.got)
        await until(lambda: len(reader.got) > before + 3)
        for one in everyone:
            one.left.set()
        await asyncio.gather(*visits)
        # One look serves all of them, and none is made when they have gone.
        await until(lambda: not streams._topics)

    asyncio.run(scene())
    assert count < 200 * 3


def test_a_stream_tells_what_has_changed_alone_and_what_is_told_cannot_end_an_event() -> None:
    looks = [
        Told({"a": "one\n\nevent: end", "b": "two"}, "1"),
        Told({"a": "one\n\nevent: end", "b": "three"}, "2"),
        Told({}, "3", is_over=True),
    ]

    async def scene() -> Visitor:
        reader = Visitor("/events/duels/7")
        gate = iter(looks)
        await reader.visit(Streams(lambda _: next(gate), look_seconds=0.02))
        return reader

    got = "".join(asyncio.run(scene()).got)
    lines = [line for line in got.splitlines() if line]
    assert [line for line in lines if line.startswith("event: ")] == [
        "event: part", "event: part", "event: progress", "event: part", "event: progress", "event: progress",
        "event: end",
    ]  # fmt: skip
    assert got.count("two") == 1
    assert lines[0] == "retry: 3000"


def test_a_stream_goes_on_after_a_look_that_failed() -> None:
    looks = iter([Told({"a": "one"}), None, Told({"a": "two"}), Told({}, is_over=True)])

    def look(_: str) -> Told:
        if (told := next(looks)) is None:
            raise OperationalError("The database is away.")
        return told

    async def scene() -> str:
        reader = Visitor()
        async with asyncio.timeout(30):
            await reader.visit(Streams(look, look_seconds=0.02))
        return "".join(reader.got)

    got = asyncio.run(scene())
    assert "one" in got
    assert "two" in got


def test_a_stream_that_cannot_be_read_is_refused_at_once_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:

    def look(_: str) -> Told:
        raise OperationalError("The database is away.")

    async def scene() -> list[int]:
        streams, readers = Streams(look, look_seconds=0.01), [Visitor(), Visitor()]
        async with asyncio.timeout(10):
            await asyncio.gather(*(one.visit(streams) for one in readers))
        return [one.status for one in readers]

    assert asyncio.run(scene()) == [503, 503]
    assert caplog.text.count("What is told of wall could not be read.") == 1


def test_a_look_that_takes_long_holds_up_no_other_topic() -> None:
    is_over, count = threading.Event(), 0

    def look(topic: str) -> Told:
        nonlocal count
        if topic == "wall":
            is_over.wait(60)
            return Told({}, is_over=True)
        count += 1
        return Told({"a": str(count)})

    async def scene() -> list[str]:
        streams = Streams(look, look_seconds=0.001)
        slow, other = Visitor(), Visitor("/events/duels/7")
        visits = [asyncio.create_task(one.visit(streams)) for one in (slow, other)]
        await until(lambda: len(other.got) > 5)
        before = list(slow.got)
        is_over.set()
        other.left.set()
        await asyncio.gather(*visits)
        return before

    assert asyncio.run(scene()) == []


@pytest.mark.parametrize("path", ["/", "/events/", "/events/duels/0", "/events/duels/1x", "/events/batches/1"])
def test_other_addresses_are_not_there(path: str) -> None:
    visitor = Visitor(path)
    asyncio.run(visitor.visit(Streams(lambda _: Told({}))))
    assert visitor.status == 404


def test_what_not_everyone_may_see_is_not_there() -> None:
    visitor = Visitor("/events/duels/5")
    asyncio.run(visitor.visit(Streams(lambda _: None)))
    assert visitor.status == 404


def test_more_topics_than_it_can_follow_are_refused() -> None:
    async def scene() -> int:
        streams = Streams(lambda _: Told({"a": ""}), look_seconds=0.01)
        others = [Visitor(f"/events/duels/{number}") for number in range(1, MOST_TOPICS + 1)]
        visits = [asyncio.create_task(one.visit(streams)) for one in others]
        await until(lambda: all(one.got for one in others))
        last = Visitor()
        await last.visit(streams)
        for one in others:
            one.left.set()
        await asyncio.gather(*visits)
        return last.status

    assert asyncio.run(scene()) == 503


def test_where_all_streams_are_taken_the_address_that_has_most_gives_one_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.watching.stream.MOST_STREAMS", 6)

    async def scene() -> None:
        streams = Streams(lambda _: Told({"a": ""}), look_seconds=0.01)
        everyone: list[tuple[Visitor, asyncio.Task[None]]] = []

        async def open_one(address: str) -> Visitor:
            visitor = Visitor(address=address)
            everyone.append((visitor, asyncio.create_task(visitor.visit(streams))))
            await until(lambda: visitor.status > 0)
            return visitor

        for _ in range(4):
            await open_one("198.51.100.1")
        # Of IPv6 a network is a visitor.
        for last in "12":
            await open_one(f"2001:db8::{last}")
        assert [(await open_one(f"198.51.100.{last}")).status for last in (2, 3)] == [200, 200]
        await until(lambda: [visit.done() for _, visit in everyone[:4]] == [False, False, True, True])
        # One more of any of them would be as many as the others have.
        assert [(await open_one(f"198.51.100.{last}")).status for last in (1, 2)] == [503, 503]
        assert (await open_one("2001:db8::3")).status == 503
        for visitor, _ in everyone:
            visitor.left.set()
        await asyncio.gather(*(visit for _, visit in everyone))
        assert not streams._open

    asyncio.run(scene())


def test_the_board_of_a_person_is_told_of_at_every_reply_and_until_it_is_over(duel: Duel) -> None:
    board = factories.sitting(duel.player_1, JobState.QUEUED)
    topic = f"sittings/{board.public_id}"
    # The agent thinks, answers, and thinks again.
    told = []
    for not_before in (None, timezone.now(), None):
        Sitting.objects.update(persons_turn_at=timezone.now(), not_before=not_before)
        time.sleep(BOARDS_SECONDS)
        told.append(look(topic))
    thinks, replied, again = (one.progress for one in told if one is not None)
    assert thinks == ""
    assert replied == again != ""
    # What is told is no content, which depends on the reader.
    assert [one.parts for one in told if one is not None] == [{}, {}, {}]
    Sitting.objects.all().delete()
    time.sleep(BOARDS_SECONDS)
    assert look(topic) == Told({}, is_over=True)
