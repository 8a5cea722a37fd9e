"""The site and the process of live events, both as in production: streams hold no thread of the site."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from core.models import Duel, Environment, JobState
from core.tests import factories
from tests.programs import answers, free_port, production_variables, running
from web.tests import played

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.both_databases,
    pytest.mark.slow,
    pytest.mark.nightly,
]
SLOW, CLOSED = 100, 100


@pytest.fixture
def duel() -> Duel:
    """A running duel that everyone may see."""
    environment: Environment = factories.environment("connect-four")
    players = [factories.ready(factories.agent(factories.user(name), environment, name)) for name in ("ann", "bob")]
    return factories.duel(played.edition(players, environment), *players, number=1, state=JobState.RUNNING)


def wait_for(port: int) -> None:
    for _ in range(2_000):
        if answers(port):
            return
        time.sleep(0.05)
    pytest.fail(f"Nothing listens on port {port}.")


def stream(port: int, path: str) -> socket.socket:
    """Open a stream and read nothing of it."""
    visitor = socket.create_connection(("127.0.0.1", port), timeout=60)
    visitor.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    visitor.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return visitor


def events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, object]]:
    """Yield the kind and the data of each event."""
    kind = ""
    while line := answer.readline().decode().rstrip("\n"):
        if line.startswith("retry"):
            answer.readline()
        elif line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))
            answer.readline()


def status(port: int, path: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as site:
        site.request("GET", path)
        return site.getresponse().status


def test_two_hundred_slow_and_closed_streams_hold_neither_the_site_nor_another_stream(
    duel: Duel, redis_url: str, tmp_path: Path
) -> None:
    variables = {**production_variables(redis_url, tmp_path), "EVENTS_URL": "/events", "DEBUG": "true"}
    site, live = free_port(), free_port()
    one = ["--workers", "1", "--threads", "1"]
    with ExitStack() as stack:
        stack.enter_context(running(variables, "-m", "gunicorn", "core.wsgi", "--bind", f"127.0.0.1:{site}", *one))
        served = ["core.asgi", "--worker-class", "asgi", "--graceful-timeout", "1", "--bind", f"127.0.0.1:{live}"]
        stack.enter_context(running(variables, "-m", "gunicorn", *served))
        wait_for(site)
        wait_for(live)
        path = f"/events/duels/{duel.pk}"
        closed = [stream(live, path) for _ in range(CLOSED)]
        for _ in range(SLOW):
            stack.callback(stream(live, path).close)
        for visitor in closed:
            visitor.close()
        # The only thread of the site is free, and so is the other process.
        assert status(site, f"/duels/{duel.pk}/") == 200
        assert status(live, "/events/health") == 200
        reader = http.client.HTTPConnection("127.0.0.1", live, timeout=60)
        stack.callback(reader.close)
        reader.request("GET", path)
        told = events(reader.getresponse())
        assert next(told)[0] == "part"
        assert next(told) == ("progress", {"progress": "RUNNING 0"})
        Duel.objects.filter(pk=duel.pk).update(matches_done=1)
        assert next(told) == ("progress", {"progress": "RUNNING 1"})
        factories.moved(Duel.objects.all(), JobState.SUCCEEDED)
        assert [kind for kind, _ in told] == ["progress", "end"]
        assert status(live, "/events/duels/999999") == 404
